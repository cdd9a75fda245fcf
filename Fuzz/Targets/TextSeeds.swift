/// Seeds in words: payloads, what operators write, keys.
enum TextSeeds {
    private static func seeds(_ name: String, _ mode: UInt8, _ texts: [String]) -> [Seeds.Seed] {
        texts.enumerated().map { Seeds.Seed(name: "\(name).\($0)", bytes: [mode] + Array($1.utf8)) }
    }

    private static func seeds(_ name: String, _ mode: UInt8, bytes: [[UInt8]]) -> [Seeds.Seed] {
        bytes.enumerated().map { Seeds.Seed(name: "\(name).\($0)", bytes: [mode] + $1) }
    }

    static let payloads: [Seeds.Seed] = {
        typealias Mode = PayloadTarget.Mode
        let a: [UInt8] = [1, 0x61]
        let actions: [[UInt8]] = [
            [1] + a + [2], [2] + a + [3], [3] + a, [4] + a + [1, 4], [5] + a, [6] + a + [20, 2, 0x80, 0x89, 0x7A],
            [7] + a, [8] + a + [2],
        ]
        let mutations: [[UInt8]] = [
            [1] + a + [2], [2] + a + [3], [3] + a, [4] + a + [1, 1, 4], [4] + a + [0],
            [5] + a + [1, 20, 2, 0x80, 0x89, 0x7A, 4, 6], [6] + a + [2],
        ]
        let state: [UInt8] = [1] + a + [8] + [1] + a + [1, 8] + [1] + a + [20, 2, 0x80, 0x89, 0x7A, 4, 6]
        var performed = FuzzInputWriter()
        performed.byte(Mode.perform.rawValue)
        performed.block(state)
        for action in actions { performed.rest([UInt8(action.count)] + action) }
        var applied = FuzzInputWriter()
        applied.byte(Mode.apply.rawValue)
        applied.block(state)
        applied.block(mutations.flatMap { [UInt8($0.count)] + $0 })
        for action in actions { applied.rest([UInt8(action.count)] + action) }
        var asked = FuzzInputWriter()
        asked.byte(Mode.ask.rawValue)
        asked.block(state)
        asked.rest([2] + [0, 20])
        return seeds("action", Mode.action.rawValue, bytes: actions)
            + seeds("mutation", Mode.mutation.rawValue, bytes: mutations)
            + seeds("reply", Mode.reply.rawValue, bytes: [[1, 2], [2, 2], [3, 2], [4]])
            + seeds("query", Mode.query.rawValue, bytes: [[1] + a, [2] + a + [20], [3, 20], [4] + a])
            + seeds("answer", Mode.answer.rawValue, bytes: [[1, 1, 2], [1, 0], [2, 1] + a + [2]])
            + seeds("state", Mode.state.rawValue, bytes: [state])
            + seeds("containers", Mode.containers.rawValue, bytes: [[1, 1, 1] + a + [2, 2, 4]])
            + seeds("numbers", Mode.numbers.rawValue, bytes: [[1, 2, 5] + [UInt8](repeating: 1, count: 31)])
            + [
                Seeds.Seed(name: "perform", bytes: performed.bytes), Seeds.Seed(name: "apply", bytes: applied.bytes),
                Seeds.Seed(name: "ask", bytes: asked.bytes),
            ]
    }()

    static let json: [Seeds.Seed] = {
        typealias Mode = JSONTarget.Mode
        let status =
            #"{"boot":"00","node":"a","process":1,"role":"primary","stores":[{"alarms":[],"commit":1,"counters":{"x":1},"#
            + #""digest":null,"epoch":1,"hash":"00","isVolatile":false,"lag":0,"name":"c","peers":[],"phase":"live","#
            + #""sequence":1,"sessionCount":0,"sessions":[],"time":0,"unanswered":0}],"uptimeSeconds":0.5}"#
        return seeds("action", Mode.action.rawValue, [#"{"add":{"_0":"a","by":1}}"#, #"{"reset":{"_0":"a"}}"#])
            + seeds("mutation", Mode.mutation.rawValue, [#"{"set":{"_0":"a","_1":-5}}"#])
            + seeds("reply", Mode.reply.rawValue, [#"{"value":{"_0":1}}"#, #"{"done":{}}"#])
            + seeds("query", Mode.query.rawValue, [#"{"list":{"limit":1,"prefix":"a"}}"#])
            + seeds("answer", Mode.answer.rawValue, [#"{"list":{"_0":[{"name":"a","value":1}]}}"#])
            + seeds("state", Mode.state.rawValue, [#"{"bounds":{},"buckets":{},"values":{"a":1,"\u00e9":2}}"#])
            + seeds("request", Mode.request.rawValue, [#"{"command":"status"}"#, #"{"command":"dump","store":"c"}"#])
            + seeds("status", Mode.status.rawValue, [status])
            + seeds("identity", Mode.identity.rawValue, [#"{"node":"a","cluster":"00","stores":["counters"]}"#])
    }()

    static let configuration: [Seeds.Seed] = {
        typealias Mode = ConfigurationTarget.Mode
        let endpoints = ["tcp://127.0.0.1:7400", "tcp://[::1]:7400", "tcp://*:0", "tcp://localhost:65533", "tcp://a:1"]
        let announced = ["tcp://*:7401", "tcp://[::]:1", "x"].map { text in
            var writer = FuzzInputWriter()
            writer.block(Array(text.utf8))
            writer.rest(Array(endpoints[0].utf8))
            return writer.bytes
        }
        return seeds("endpoint", Mode.endpoint.rawValue, endpoints)
            + seeds("reachable", Mode.reachable.rawValue, bytes: announced)
            + seeds("name", Mode.name.rawValue, ["node-1.a_B"])
            + seeds("identifier", Mode.identifier.rawValue, ["00112233445566778899aabbccddeeff"])
            + seeds("place", Mode.place.rawValue, ["1750000000000:70000", "1:2:00112233445566778899aabbccddeeff"])
            + seeds("folder", Mode.folder.rawValue, ["/var/lib/lockstep/", "/"])
            + seeds("primary", Mode.primary.rawValue, endpoints)
            + seeds("replica", Mode.replica.rawValue, bytes: announced)
            + seeds("client", Mode.client.rawValue, endpoints)
            + seeds("clock", Mode.clock.rawValue, bytes: [[UInt8](repeating: 1, count: 17)])
    }()

    static let keys: [Seeds.Seed] =
        seeds(
            "key", 0,
            [
                "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6",
                String(repeating: "0", count: 40), String(repeating: "#", count: 40),
            ])
        + seeds("derived", KeyTarget.derives, ["JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"])
}
