#if Web
    internal import HTTPTypes
    internal import HummingbirdCore
    internal import Lockstep
    internal import NIOCore
    internal import NIOHTTP1
    internal import NIOHTTPTypes

    /// Keeps a connection within bounds, before its requests reach anything that answers.
    ///
    /// It refuses what is too long or no HTTP, by an answer after which the connection ends; and it ends connections
    /// whose client does not read: the answers of one wait in memory only up to the channel's high-water mark and one
    /// answer more, and for ``unreadTime`` at most.
    final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart
        typealias InboundOut = HTTPRequestPart
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        /// The most bytes of a path with its query.
        static let targetBytes = 8 << 10
        /// The most bytes of a head's fields together, and of one.
        static let headBytes = 64 << 10
        /// The most fields.
        static let headFields = 100

        private let counts: FaceCounts
        private let connections: Int
        private let unreadTime: TimeAmount
        private let now: @Sendable () -> LogTime
        private var isCounted = false
        /// Whether the connection is one too many.
        private var isOver = false
        /// Requests that were passed on and whose answer has not been written.
        private var answersDue = 0
        /// What is answered as soon as all earlier requests are; nothing more is passed on.
        private var refusal: FaceProblem?
        private var isRefused = false
        private var deadline: Scheduled<Void>?

        /// Guards one connection; `connections` may be open in all.
        init(
            counts: FaceCounts, connections: Int, unreadTime: Duration, now: @escaping @Sendable () -> LogTime
        ) {
            self.counts = counts
            self.connections = connections
            self.unreadTime = TimeAmount(unreadTime)
            self.now = now
        }

        func handlerAdded(context: ChannelHandlerContext) {
            isCounted = true
            isOver = counts.connectionOpened() > connections
        }

        func handlerRemoved(context: ChannelHandlerContext) { end() }

        func channelInactive(context: ChannelHandlerContext) {
            end()
            context.fireChannelInactive()
        }

        private func end() {
            if isCounted { counts.connectionClosed() }
            isCounted = false
            deadline?.cancel()
            deadline = nil
        }

        // MARK: - What comes in

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard refusal == nil else { return }
            if case .head(let head) = unwrapInboundIn(data) {
                if let problem = problem(of: head) {
                    refuse(problem, context)
                    return
                }
                answersDue += 1
            }
            context.fireChannelRead(data)
        }

        private func problem(of head: HTTPRequest) -> FaceProblem? {
            if isOver { return .full }
            if (head.path?.utf8.count ?? 0) > Self.targetBytes { return .uriTooLong }
            if head.headerFields.contains(.transferEncoding) { return .lengthRequired }
            // Nothing reads a body; and each part of one would begin the idle time anew.
            if let length = head.headerFields[.contentLength], Int(length) != 0 { return .contentTooLarge }
            return nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            switch error {
            case HTTPParserError.headerOverflow: refuse(.headersTooLarge, context)
            case HTTPParserError.invalidEOFState, HTTPParserError.closedConnection: context.close(promise: nil)
            case is HTTPParserError: refuse(.badRequest, context)
            case is ChannelError, is IOError: context.fireErrorCaught(error)
            default: refuse(.badRequest, context)
            }
        }

        // MARK: - What goes out

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard !isRefused else {
                promise?.fail(ChannelError.ioOnClosedChannel)
                return
            }
            let part = unwrapOutboundIn(data)
            context.write(data, promise: promise)
            guard case .end = part else { return }
            answersDue -= 1
            if let refusal, answersDue <= 0 { answer(refusal, context) }
        }

        private func refuse(_ problem: FaceProblem, _ context: ChannelHandlerContext) {
            guard refusal == nil else { return }
            refusal = problem
            if answersDue <= 0 { answer(problem, context) }
        }

        /// Answers, and ends the connection as soon as the client has read that, or has had the time to.
        private func answer(_ problem: FaceProblem, _ context: ChannelHandlerContext) {
            isRefused = true
            counts.answered(problem.status, after: .zero)
            let body = ByteBuffer(bytes: problem.json)
            var headers = HTTPFields(problem.headers(now: now()))
            headers[.contentLength] = String(body.readableBytes)
            headers[.connection] = "close"
            let head = HTTPResponse(status: HTTPResponse.Status(code: problem.status), headerFields: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(body)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            // What the client still sends is read and dropped, since closing at once would take the answer from it.
            context.close(mode: .output, promise: nil)
            closeLater(context, in: .seconds(2))
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if context.channel.isWritable {
                if !isRefused {
                    deadline?.cancel()
                    deadline = nil
                }
            } else if deadline == nil {
                closeLater(context, in: unreadTime)
            }
            context.fireChannelWritabilityChanged()
        }

        private func closeLater(_ context: ChannelHandlerContext, in time: TimeAmount) {
            deadline?.cancel()
            let channel = context.channel
            deadline = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
        }
    }

    @available(*, unavailable)
    extension ConnectionGuard: Sendable {}
#endif
