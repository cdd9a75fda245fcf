#if Web
    /// A moment of the header fields `Date` and `Retry-After` (RFC 9110, section 5.6.7).
    package enum HTTPDate {
        private static let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ]

        /// Seconds since 1970, from one of the three forms that a recipient must take; nil for anything else.
        ///
        /// The name of the day is not looked at.
        package static func seconds(_ text: String) -> Int64? {
            let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
            switch words.count {
            // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT
            case 6 where words[5] == "GMT": return seconds(words[3], words[2], words[1], words[4])
            // Sun Nov  6 08:49:37 1994
            case 5: return seconds(words[4], words[1], words[2], words[3])
            default: return nil
            }
        }

        private static func seconds(_ year: String, _ month: String, _ day: String, _ clock: String) -> Int64? {
            let parts = clock.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), 2...2) }
            guard var year = number(year, 2...4), let month = months.firstIndex(of: month),
                let day = number(day, 1...2),
                parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2]
            else { return nil }
            // The form with two digits is from a time before GitHub.
            if year < 100 { year += year < 70 ? 2_000 : 1_900 }
            // The sixtieth second is a leap second's.
            guard year >= 1_970, (1...31).contains(day), hour < 24, minute < 60, second <= 60 else { return nil }
            return days(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
        }

        private static func number(_ text: String, _ length: ClosedRange<Int>) -> Int64? {
            guard length.contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            return Int64(text)
        }

        /// Days since 1970 in the calendar of Gregory, with years that begin in March, so that the leap day is the last.
        private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
            let year = month <= 2 ? year - 1 : year
            let (era, ofEra) = (year / 400, year % 400)
            let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
            return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        }
    }
#endif
