import Foundation

/// Gives back the memory that holds only zeros of the fuzzer's own tables.
///
/// libFuzzer writes zeros into tables for two million features, 20 MiB, before the first input; a target has a few
/// thousand of them. What is given back reads as zeros, and comes back where it is written to. To be called by the
/// thread that runs inputs, before the first.
enum Memory {
    private static let pageBytes = 4_096
    /// Smaller mappings are not worth it; greater ones are the sanitizer's, and are mostly not there.
    private static let sizes = 16 << 20...64 << 20

    static func giveBackZeros() {
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        // Without it all stays as it is, and the limit of Fuzz/run says if that is too much.
        guard memory >= 0 else { return }
        defer { close(memory) }
        for mapping in anonymousMappings() where sizes.contains(mapping.count) {
            // Through the file, since the tables have the sanitizer's own bytes in front, which only it may read.
            var page = [UInt8](repeating: 0, count: pageBytes)
            for start in stride(from: mapping.lowerBound, to: mapping.upperBound, by: pageBytes) {
                if pread(memory, &page, pageBytes, start) == pageBytes, page.allSatisfy({ $0 == 0 }) {
                    madvise(UnsafeMutableRawPointer(bitPattern: start), pageBytes, MADV_DONTNEED)
                }
            }
        }
    }

    /// The addresses of private memory that may be written and is of no file.
    private static func anonymousMappings() -> [Range<Int>] {
        // What cannot be read is left as it is.
        guard let text = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count == 5, fields[1] == "rw-p" else { return nil }
            let ends = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
        }
    }
}
