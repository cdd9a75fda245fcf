#if Web
    import SearchCacheWeb
    import Testing

    /// The header field `Link` as RFC 8288 has it.
    struct LinkHeaderTests {
        /// What GitHub sends, and every other way to say that there is a next page.
        @Test(arguments: [
            #"<https://api.github.com/search/repositories?q=a&page=2>; rel="next", <https://x/?page=34>; rel="last""#,
            #"<https://x/?page=1>; rel="prev", <https://x/?page=3>; rel="next""#,
            #"<https://x/?q=a,b;c&page=2>; rel=next"#,
            #"<https://x/>;rel="next""#,
            #"<https://x/> ; REL = "NEXT""#,
            #"<https://x/>; rel="prev next""#,
            #"<https://x/>; title="a, \"b\"; rel=prev"; rel=next"#,
            #"<https://x/>; title=plain; crossorigin; rel=next"#,
            #",, <https://x/>;; rel=next ;"#,
            #"<>; rel=next"#,
            #"<https://x/>; rel=next, broken"#,
        ])
        func aNextPageIsFound(value: String) {
            #expect(LinkHeader.hasNext([value]))
        }

        /// What looks like a next page and is none: a search for the word would find it in each.
        @Test(arguments: [
            "",
            #"<https://x/?page=2>; rel="prev""#,
            #"<https://x/?rel="next">; rel="last""#,
            #"<https://x/?a=1>; title="; rel=next""#,
            #"<https://x/?a=1>; title="a\"; rel=next""#,
            #"<https://x/>; rel="prev"; rel="next""#,
            #"<https://x/>; rel="nextish""#,
            #"<https://x/>; rel="not-next""#,
            #"<https://x/>; rev="next""#,
            #"<https://x/>; rel="next"; anchor="https://y/""#,
            #"<https://x/>; rel="prev", https://y/; rel=next"#,
            #"<https://x/; rel=next"#,
            #"https://x/; rel=next"#,
            #"<https://x/> rel=next"#,
            #"<https://x/>; rel="next"#,
            #"<https://x/>; rel="#,
            #"<https://x/>; =next"#,
            #"<https://x/>; rel=next rel"#,
            #"rel="next""#,
        ])
        func whatIsNoNextPageIsNotFound(value: String) {
            #expect(!LinkHeader.hasNext([value]))
        }

        /// Several links, several fields, and the parts of each.
        @Test func theLinksAreTakenApart() {
            let links = LinkHeader.parse(#"<a,b>; rel="Prev first"; title="x", <c>; rel=last; anchor="/d", <e>"#)
            #expect(links.map(\.target) == ["a,b", "c", "e"])
            #expect(links.map(\.relations) == [["prev", "first"], ["last"], []])
            #expect(links.map(\.hasAnchor) == [false, true, false])
            #expect(LinkHeader.hasNext(["<a>; rel=prev", "<b>; rel=next"]))
            #expect(!LinkHeader.hasNext([]))
        }

        /// Every beginning of a field ends, without a trap, and none of them has a next page before its time.
        @Test func everyBeginningOfAFieldIsRead() {
            let value = #"<https://x/?a,b>; title="q\"\,"; rel="prev", <https://y/>; rel="next""#
            for length in 0..<value.count {
                #expect(!LinkHeader.hasNext([String(value.prefix(length))]), "\(value.prefix(length))")
            }
            #expect(LinkHeader.hasNext([value]))
        }
    }

    /// The dates of header fields.
    struct HTTPDateTests {
        /// The three forms of RFC 9110, and moments that were taken from `date -u`.
        @Test(arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Thu, 01 Jan 2026 00:00:00 GMT", 1_767_225_600),
            ("Fri, 31 Dec 2100 12:00:00 GMT", 4_133_937_600),
        ])
        func aDateIsRead(text: String, seconds: Int64) {
            #expect(HTTPDate.seconds(text) == seconds)
        }

        /// Anything else is no date.
        @Test(arguments: [
            "", "soon", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nix 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
            "Wed, 31 Dec 1969 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        ])
        func whatIsNoDateIsNone(text: String) {
            #expect(HTTPDate.seconds(text) == nil)
        }
    }
#endif
