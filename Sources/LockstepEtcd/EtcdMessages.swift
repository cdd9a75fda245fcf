#if Etcd
    import Foundation

    // The messages of etcd's JSON gateway, as far as they are used. It takes names in camel case, and answers in snake
    // case, which the decoder turns.
    //
    // - A name that it does not know is passed over, and a test that asks a real etcd is the only check of spelling.
    // - Keys and values are base64, which is how `Data` is coded. Integers of 64 bits are texts.
    // - What has the value of its type, such as false, 0 or an empty list, is left out. So `succeeded` is missing when
    //   a comparison failed, and an answer that lost its content looks like one that says "no". A header is in every
    //   answer, and is asked for.

    /// An integer of 64 bits: a text in etcd's JSON, or a number.
    struct EtcdInteger: Hashable, Sendable, Codable {
        var value: Int64

        init(_ value: Int64) { self.value = value }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            // If it is no number, it must be a text, as it usually is.
            if let number = try? container.decode(Int64.self) {
                value = number
                return
            }
            let text = try container.decode(String.self)
            guard let number = Int64(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "\(text) is no integer")
            }
            value = number
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(String(value))
        }
    }

    // MARK: - Requests

    struct RangeRequest: Encodable, Sendable {
        var key: Data
        var rangeEnd: Data?
        /// False asks for a linearizable answer.
        var serializable = false
        var keysOnly: Bool?
    }

    struct PutRequest: Encodable, Sendable {
        var key: Data
        var value: Data
        var lease: EtcdInteger?
    }

    struct TxnRequest: Encodable, Sendable {
        struct Comparison: Encodable, Sendable {
            var key: Data
            var target: String
            var result = "EQUAL"
            var modRevision: EtcdInteger?
            var createRevision: EtcdInteger?
            var value: Data?

            static func isRevision(_ key: Data, _ revision: Int64) -> Comparison {
                Comparison(key: key, target: "MOD", modRevision: EtcdInteger(revision))
            }
            static func isValue(_ key: Data, _ value: Data) -> Comparison {
                Comparison(key: key, target: "VALUE", value: value)
            }
            static func isMissing(_ key: Data) -> Comparison {
                Comparison(key: key, target: "CREATE", createRevision: EtcdInteger(0))
            }
        }

        struct Operation: Encodable, Sendable {
            var requestRange: RangeRequest?
            var requestPut: PutRequest?

            static func range(_ key: Data) -> Operation { Operation(requestRange: RangeRequest(key: key)) }
            static func put(_ key: Data, _ value: Data, lease: Int64? = nil) -> Operation {
                Operation(requestPut: PutRequest(key: key, value: value, lease: lease.map(EtcdInteger.init)))
            }
        }

        var compare: [Comparison] = []
        var success: [Operation]
        var failure: [Operation] = []
    }

    struct GrantRequest: Encodable, Sendable {
        // It is passed over when it is written in small letters.
        enum CodingKeys: String, CodingKey { case seconds = "TTL" }
        var seconds: EtcdInteger
    }

    struct KeepAliveRequest: Encodable, Sendable {
        enum CodingKeys: String, CodingKey { case id = "ID" }
        var id: EtcdInteger
    }

    struct RevokeRequest: Encodable, Sendable {
        enum CodingKeys: String, CodingKey { case id = "ID" }
        var id: EtcdInteger
    }

    struct WatchRequest: Encodable, Sendable {
        struct Creation: Encodable, Sendable {
            var key: Data
            var rangeEnd: Data
        }
        var createRequest: Creation
    }

    // MARK: - Answers

    struct EtcdHeader: Decodable, Sendable {
        var revision: EtcdInteger
    }

    struct EtcdKeyValue: Decodable, Sendable {
        var key: Data
        /// Missing if it is empty.
        var value: Data?
        var modRevision: EtcdInteger?
        /// Missing without one.
        var lease: EtcdInteger?
    }

    struct RangeAnswer: Decodable, Sendable {
        var header: EtcdHeader
        /// Missing if there are none.
        var kvs: [EtcdKeyValue]?
        var more: Bool?
    }

    struct TxnAnswer: Decodable, Sendable {
        struct Response: Decodable, Sendable {
            var responseRange: RangePart?
            var responsePut: PutPart?
        }
        struct RangePart: Decodable, Sendable {
            var kvs: [EtcdKeyValue]?
        }
        struct PutPart: Decodable, Sendable {}

        var header: EtcdHeader
        var succeeded: Bool?
        var responses: [Response]?

        /// What the else branch read, if there are as many answers as it has ranges.
        func ranges(_ count: Int) -> [RangePart]? {
            let parts = (responses ?? []).compactMap(\.responseRange)
            return parts.count == count && responses?.count == count ? parts : nil
        }

        /// Whether it is the answer of a branch that has so many puts.
        func hasPuts(_ count: Int) -> Bool {
            (responses ?? []).count == count && (responses ?? []).allSatisfy { $0.responsePut != nil }
        }
    }

    struct GrantAnswer: Decodable, Sendable {
        enum CodingKeys: String, CodingKey { case id = "ID" }
        var id: EtcdInteger
    }

    struct RevokeAnswer: Decodable, Sendable {
        var header: EtcdHeader
    }

    /// One object of a stream, which ends with its first error.
    struct StreamAnswer<Part: Decodable & Sendable>: Decodable, Sendable {
        struct Problem: Decodable, Sendable { var message: String? }
        var result: Part?
        var error: Problem?
    }

    struct KeepAlivePart: Decodable, Sendable {
        enum CodingKeys: String, CodingKey { case id = "ID", seconds = "TTL" }
        var id: EtcdInteger
        /// Missing if the lease is not there.
        var seconds: EtcdInteger?
    }

    struct WatchPart: Decodable, Sendable {
        struct Event: Decodable, Sendable { var kv: EtcdKeyValue? }
        var header: EtcdHeader
        var created: Bool?
        var canceled: Bool?
        var cancelReason: String?
        var events: [Event]?
    }

    /// What a server says that refuses; etcd 3.4 writes both names.
    struct ErrorAnswer: Decodable, Sendable {
        private var message: String?
        private var error: Words?

        /// What it says, however.
        var text: String? { message ?? error?.text }

        /// A text or, where the answer would have been a stream, an object with a message.
        private struct Words: Decodable {
            var text: String?

            init(from decoder: any Decoder) throws {
                if let text = try? decoder.singleValueContainer().decode(String.self) {
                    self.text = text
                    return
                }
                text = try decoder.container(keyedBy: Key.self).decodeIfPresent(String.self, forKey: .message)
            }

            private enum Key: String, CodingKey { case message }
        }
    }
#endif
