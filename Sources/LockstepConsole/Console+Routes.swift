internal import Lockstep
package import LockstepHTTP

extension Console {
    /// The page and what it asks for; all below `/` and `/api`.
    package var routes: [HTTPRoute] { pageRoutes + liveRoutes + storeRoutes }

    private var pageRoutes: [HTTPRoute] {
        [
            HTTPRoute("/") { _ in .text(ConsolePage.document, as: "text/html; charset=utf-8") },
            HTTPRoute("/console.css") { _ in .text(ConsolePage.style, as: "text/css; charset=utf-8") },
            HTTPRoute("/console.js") { _ in .text(ConsolePage.script, as: "text/javascript; charset=utf-8") },
            HTTPRoute("/console.svg") { _ in .text(ConsolePage.icon, as: "image/svg+xml") },
        ]
    }

    private var liveRoutes: [HTTPRoute] {
        [
            HTTPRoute("/api/status") { _ in
                self.audience.asked()
                do { return .json(try await self.status()) } catch {
                    return .problem(ConsoleProblem(describing: error))
                }
            },
            HTTPRoute("/api/events") { _ in
                guard let events = self.audience.join() else {
                    let most = ConsoleAudience.mostReaders
                    return .problem(ConsoleProblem(503, "\(most) pages are open already: close one, and try again"))
                }
                return HTTPAnswer(contentType: "text/event-stream", body: .events(events))
            },
        ]
    }

    private var storeRoutes: [HTTPRoute] {
        [
            route("/api/entries") { store, query in
                .json(store.lines(try query.number("before"), Int(try query.number("limit", 1...200) ?? 50)))
            },
            heavyRoute("/api/entry") { store, query in .json(try store.entry(try query.required("sequence"))) },
            heavyRoute("/api/state") { store, query in .json(try store.state(try query.number("at"))) },
            heavyRoute("/api/difference") { store, query in
                .json(try store.difference(try query.required("from"), try query.required("to")))
            },
            heavyRoute("/api/values") { store, query in
                let path = query.parameters["path"] ?? ""
                guard let steps = StatePath(path) else {
                    throw ConsoleProblem(400, "path is no path of a state, such as values.visits or values[\"a b\"]")
                }
                let points = store.values(steps, try query.number("after") ?? 0)
                return .json(ValuesAnswer(path: path, points: points))
            },
        ]
    }

    private func route(
        _ path: String, _ body: @escaping @Sendable (ConsoleStore, HTTPQuery) throws -> HTTPAnswer
    ) -> HTTPRoute {
        HTTPRoute(path) { query in
            self.audience.asked()
            do { return try body(try self.store(query), query) } catch {
                return .problem(ConsoleProblem(describing: error))
            }
        }
    }

    /// One whose answer may take long.
    private func heavyRoute(
        _ path: String, _ body: @escaping @Sendable (ConsoleStore, HTTPQuery) throws -> HTTPAnswer
    ) -> HTTPRoute {
        HTTPRoute(path) { query in
            self.audience.asked()
            return await self.desk.answer { try body(try self.store(query), query) }
        }
    }

    private func store(_ query: HTTPQuery) throws -> ConsoleStore {
        let names = stores.map(\.name).joined(separator: ", ")
        guard let name = query.parameters["store"] else {
            throw ConsoleProblem(400, "say which store, with store=NAME: \(names)")
        }
        guard let store = stores.first(where: { $0.name == name }) else {
            throw ConsoleProblem(404, "there is no store of this name here: \(names)")
        }
        return store
    }
}

extension HTTPQuery {
    /// A whole number; nil if it is not given.
    func number(_ name: String, _ range: ClosedRange<UInt64> = 0...UInt64(Int64.max)) throws -> UInt64? {
        guard let text = parameters[name] else { return nil }
        guard let number = UInt64(text), range.contains(number) else {
            throw ConsoleProblem(
                400, "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A whole number that must be given.
    func required(_ name: String) throws -> UInt64 {
        guard let number = try number(name) else { throw ConsoleProblem(400, "say \(name)=NUMBER") }
        return number
    }
}
