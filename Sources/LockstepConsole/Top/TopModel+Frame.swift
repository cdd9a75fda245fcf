internal import LockstepNode

extension TopModel {
    /// What to show on a terminal of this size.
    package func frame(columns: Int, rows: Int, sparkline: Sparkline = Sparkline()) -> TopFrame {
        var frame = TopFrame()
        addHead(to: &frame, columns: columns)
        if isHelpShown {
            addHelp(to: &frame)
        } else if looks.isEmpty {
            frame.add(TopFrame.Piece("waiting for the first answers", .soft))
        } else {
            addAlarms(to: &frame)
            addStores(to: &frame)
            addNodes(to: &frame, columns: columns, sparkline)
        }
        frame.cut(columns: columns, rows: rows)
        return frame
    }

    private func addHead(to frame: inout TopFrame, columns: Int) {
        let answering = looks.count { $0.status != nil }
        let title = "lockstep top"
        let figures = "  \(answering) of \(looks.count) nodes answer, order: \(order.rawValue)"
        let pause = isPaused ? "  PAUSED" : ""
        let keys = "q quit  ? help"
        let room = columns - title.count - figures.count - pause.count - keys.count
        frame.add(
            .init(title, .strong), .init(figures), .init(pause, .alarm),
            .init(room >= 2 ? String(repeating: " ", count: room) + keys : "", .soft))
        frame.add()
    }

    private func addHelp(to frame: inout TopFrame) {
        let rows = [
            ("q", "quit; also Ctrl-C"), ("left right", "the store before or after; also up, down and Tab"),
            ("s", "sort by lag, by rate, or as the nodes were named"), ("p", "pause, and go on; also the space bar"),
            ("?", "this help; any key leaves it"),
        ]
        for (key, text) in rows {
            frame.add(.init("  " + key.padded(to: 12), .accent), .init(text))
        }
        frame.add()
        frame.add(.init("RATE/S is of entries committed; LAG of a primary is that of its slowest replica.", .soft))
        frame.add(.init("A replica that only its primary hears has the age of its last word as its phase.", .soft))
        frame.add(.init("The bars are the last minute, each by its own greatest value.", .soft))
    }

    private func addAlarms(to frame: inout TopFrame) {
        var alarms: [String] = []
        for look in looks {
            guard let status = look.status else {
                alarms.append(look.reason ?? "\(look.path): \(look.word)")
                continue
            }
            for store in status.stores {
                alarms += store.alarms.map { "\(status.node), \(store.name): \($0)" }
                alarms += store.lostReplicas.map {
                    "\(status.node), \(store.name): replica \($0.node) is lost, last heard \(Int($0.silentSeconds)) s ago"
                }
            }
        }
        for alarm in alarms { frame.add(.init("! \(alarm)", .alarm)) }
        if !alarms.isEmpty { frame.add() }
    }

    private func addStores(to frame: inout TopFrame) {
        guard let store else { return }
        var line: [TopFrame.Piece] = [.init("stores ", .soft)]
        for name in stores { line += [.init(" \(name) ", name == store ? .chosen : .plain), .init(" ")] }
        if let marks = marks(of: store) {
            line.append(.init("  digests "))
            line.append(marks.areEqual ? .init("equal", .accent) : .init("DIFFER", .alarm))
            line.append(.init(" at \(marks.sequence)"))
        }
        frame.add(line)
        frame.add()
    }

    /// The columns' names, and how wide they are; of those to the right.
    private static let columns: [(name: String, width: Int)] = [
        ("NODE", 18), ("ROLE", 8), ("PHASE", 12), ("COMMIT", 11), ("LAG", 7), ("RATE/S", 8),
    ]

    private func addNodes(to frame: inout TopFrame, columns: Int, _ sparkline: Sparkline) {
        let fixed = Self.columns.reduce(0) { $0 + $1.width + 1 }
        // What is left is for two lines of blocks, or for one if it is little.
        let room = max(0, columns - fixed)
        let isBoth = room >= 24
        let width = isBoth ? min(60, (room - 1) / 2) : min(60, room)
        let bars = width >= 6 ? ["RATE".padded(to: width)] + (isBoth ? ["LAG".padded(to: width)] : []) : []
        frame.add(.init(Self.row(Self.columns.map(\.name), bars), .soft))
        guard let store else { return }
        for row in rows {
            let (rates, lags) = (rates(of: row.path, store), lags(of: row.path, store))
            let drawn = [rates, lags].prefix(bars.count).map {
                sparkline.text($0, now: now, span: Self.span, width: width)
            }
            frame.add(line(row, rate: rates.last?.value, drawn.joined(separator: " ")))
        }
        for look in looks where !(look.status?.stores.contains { $0.name == store } ?? false) {
            let word = look.status == nil ? look.word : "has no store \(store)"
            let name = look.status?.node ?? look.path
            frame.add(.init(name.padded(to: Self.columns[0].width) + " "), .init(word, .alarm))
        }
    }

    private func line(_ row: Row, rate: Double?, _ bars: String) -> [TopFrame.Piece] {
        let widths = Self.columns.map(\.width)
        return [
            .init(row.node.padded(to: widths[0]) + " ", row.role == .primary ? .strong : .plain),
            .init(row.role.rawValue.padded(to: widths[1]) + " "),
            .init(row.phase.padded(to: widths[2]) + " ", row.isWell ? .plain : .alarm),
            .init(String(row.commit).padded(to: -widths[3]) + " "),
            .init((row.lag.map(String.init) ?? "?").padded(to: -widths[4]) + " ", row.lag == nil ? .alarm : .plain),
            .init((rate.map { String(Int($0.rounded())) } ?? "-").padded(to: -widths[5]) + " "),
            .init(bars, .accent),
        ]
    }

    /// Numbers stand to the right, under the ends of their names.
    private static func row(_ names: [String], _ bars: [String]) -> String {
        let cells = zip(names, columns).enumerated().map { index, pair in
            pair.0.padded(to: index < 3 ? pair.1.width : -pair.1.width)
        }
        return (cells + bars).joined(separator: " ")
    }
}

extension String {
    /// With blanks after it up to a width, and cut off there; with a negative width, which is for numbers, the blanks
    /// are before it, and nothing is cut off.
    fileprivate func padded(to width: Int) -> String {
        guard count < abs(width) else { return width < 0 ? self : String(prefix(width)) }
        let blanks = String(repeating: " ", count: abs(width) - count)
        return width < 0 ? blanks + self : self + blanks
    }
}
