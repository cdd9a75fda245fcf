#if os(Linux)
    import Foundation
    import Glibc
    import Lockstep
    import LockstepCore

    // Other processes replay a log without running anything else of this program: the program's own file is started
    // with a variable in its environment, and a function among its initialisers, which the loader calls before `main`,
    // sees the variable, replays, and ends the process. So it does not matter what the program is: a test runner of any
    // kind, or a tool.

    /// What another process is to do.
    private struct ReplayOrder: Codable {
        var reactor: ReactorName
        var initial: [UInt8]
        var log: ReplayLog
    }

    /// What it found.
    private struct ReplayAnswer: Codable {
        var difference: ReplayDifference?
        /// Why there was no replay.
        var trouble: String?
    }

    private let orderVariable = "LOCKSTEP_REPLAY_ORDER"
    private let answerVariable = "LOCKSTEP_REPLAY_ANSWER"

    @section(".init_array") @used
    private let replayIfAsked: @convention(c) () -> Void = {
        if unsafe getenv(orderVariable) != nil { ReplayProcesses.replayAndExit() }
    }

    /// How another process of the same program finds a type.
    private struct ReactorName: Codable {
        /// The type's mangled name.
        var name: String
        /// Where its metadata lies in the program's image, for private and local types, which have no name that can be
        /// looked up.
        var offset: Int?

        init(_ reactor: any Reactor.Type) {
            name = _mangledTypeName(reactor) ?? ""
            if _typeByName(name) as? any Reactor.Type == nil { offset = Self.offset(of: reactor) }
        }

        var isFindable: Bool { offset != nil || _typeByName(name) is any Reactor.Type }

        var type: (any Reactor.Type)? {
            guard let offset else { return _typeByName(name) as? any Reactor.Type }
            let address = unsafe UnsafeRawPointer(#dsohandle) + offset
            return unsafe unsafeBitCast(address, to: Any.Type.self) as? any Reactor.Type
        }

        /// Metadata that lies in the program's file is complete when the program is loaded, and at the same offset in
        /// every process; what is made while the program runs lies elsewhere.
        private static func offset(of reactor: any Reactor.Type) -> Int? {
            let address = unsafe Int(bitPattern: unsafeBitCast(reactor as Any.Type, to: UnsafeRawPointer.self))
            let image = unsafe Int(bitPattern: UnsafeRawPointer(#dsohandle))
            guard let program = ReplayProcesses.program, isMapped(address, program), isMapped(image, program) else {
                return nil
            }
            // The first word says what it is: 0x200 is a struct, 0x201 an enum; a class may be incomplete.
            let kind = unsafe UnsafeRawPointer(bitPattern: address)?.load(as: Int.self)
            return kind == 0x200 || kind == 0x201 ? address - image : nil
        }

        private static func isMapped(_ address: Int, _ program: String) -> Bool {
            guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return false }
            return maps.split(separator: "\n").contains { line in
                let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
                let ends = fields.first?.split(separator: "-").compactMap { Int($0, radix: 16) } ?? []
                guard fields.count == 6, ends.count == 2, (ends[0]..<ends[1]).contains(address) else { return false }
                return fields[5].trimmingCharacters(in: .whitespaces) == program
            }
        }
    }

    /// Starts processes that replay a log, and is what happens in them.
    enum ReplayProcesses {
        /// The file that runs.
        static var program: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }

        /// Places far from each other and from nearly everybody.
        private static let surroundings = [
            ("Pacific/Kiritimati", "ar_EG.UTF-8"), ("America/St_Johns", "de_DE.UTF-8"), ("Asia/Kathmandu", "C"),
        ]

        // MARK: - In the process that checks

        static func run<R: Reactor>(_ count: Int, _ recording: Recording<R>) throws(DeterminismError) {
            guard count > 0 else { return }
            let name = ReactorName(R.self)
            guard name.isFindable else {
                throw .noReplay(
                    "\(R.self) cannot be found in another process; make it a struct outside of functions and not "
                        + "private, or pass processes: 0")
            }
            let answers: [ReplayAnswer]
            do {
                let initial = try R.stateCoding.encoded(recording.initial)
                answers = try ask(count, ReplayOrder(reactor: name, initial: initial, log: recording.log))
            } catch {
                throw .noReplay("\(error)")
            }
            for (index, answer) in answers.enumerated() {
                if let trouble = answer.trouble { throw .noReplay("\(trouble); pass processes: 0 to do without") }
                try recording.compare(answer.difference, "process \(index + 1)")
            }
        }

        private static func ask(_ count: Int, _ order: ReplayOrder) throws -> [ReplayAnswer] {
            let files = FileManager.default
            let folder = files.temporaryDirectory.appendingPathComponent("lockstep-replay-\(UUID().uuidString)")
            try files.createDirectory(at: folder, withIntermediateDirectories: true)
            // What is left of a temporary folder harms nobody.
            defer { try? files.removeItem(at: folder) }
            let orderFile = folder.appendingPathComponent("order")
            try JSONEncoder().encode(order).write(to: orderFile)
            let running = try (0..<count).map { index in
                let answerFile = folder.appendingPathComponent("answer-\(index)")
                return (process: try start(index, orderFile, answerFile), answer: answerFile)
            }
            return running.map { process, answer in
                process.waitUntilExit()
                // Without an answer the process's end is what is known.
                if let data = try? Data(contentsOf: answer),
                    let found = try? JSONDecoder().decode(ReplayAnswer.self, from: data)
                {
                    return found
                }
                let end = process.terminationReason == .uncaughtSignal ? "by signal" : "with status"
                // What it said before; nothing if that cannot be read.
                let said = (try? String(contentsOf: errors(of: answer), encoding: .utf8)) ?? ""
                return ReplayAnswer(
                    trouble: "the other process ended \(end) \(process.terminationStatus) without an answer, as a "
                        + "reducer that traps does: \(said.trimmingCharacters(in: .whitespacesAndNewlines).prefix(1_000))"
                )
            }
        }

        private static func errors(of answer: URL) -> URL { answer.appendingPathExtension("errors") }

        private static func start(_ index: Int, _ order: URL, _ answer: URL) throws -> Process {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program ?? "/proc/self/exe")
            var environment = ProcessInfo.processInfo.environment
            environment[orderVariable] = order.path
            environment[answerVariable] = answer.path
            environment["SWIFT_DETERMINISTIC_HASHING"] = nil
            environment["SWIFT_BACKTRACE"] = "enable=no"
            let (zone, locale) = surroundings[index % surroundings.count]
            environment["TZ"] = zone
            environment["LC_ALL"] = locale
            process.environment = environment
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle.nullDevice
            try Data().write(to: errors(of: answer))
            process.standardError = try FileHandle(forWritingTo: errors(of: answer))
            try process.run()
            return process
        }

        // MARK: - In the process that replays

        static func replayAndExit() -> Never {
            let environment = ProcessInfo.processInfo.environment
            var answer = ReplayAnswer()
            do {
                let order = try Data(contentsOf: URL(fileURLWithPath: environment[orderVariable] ?? ""))
                answer = replay(try JSONDecoder().decode(ReplayOrder.self, from: order))
            } catch {
                answer.trouble = "the order cannot be read: \(error)"
            }
            do {
                let file = URL(fileURLWithPath: environment[answerVariable] ?? "")
                try JSONEncoder().encode(answer).write(to: file)
            } catch {
                _exit(1)
            }
            // Nothing of the program itself has run, so there is nothing to end in good order.
            _exit(0)
        }

        private static func replay(_ order: ReplayOrder) -> ReplayAnswer {
            guard let reactor = order.reactor.type else {
                return ReplayAnswer(trouble: "there is no type \(order.reactor.name)")
            }
            return replay(order, as: reactor)
        }

        private static func replay<R: Reactor>(_ order: ReplayOrder, as reactor: R.Type) -> ReplayAnswer {
            do {
                let initial = try R.stateCoding.decoded(order.initial)
                return ReplayAnswer(difference: Replay.run(order.log, from: initial, as: R.self))
            } catch {
                return ReplayAnswer(trouble: "the initial state cannot be decoded: \(error)")
            }
        }
    }
#endif
