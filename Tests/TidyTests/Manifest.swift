/// What Package.swift says of this package's targets.
struct Manifest {
    /// The names in quotes among a target's dependencies, of all traits, by the target's name.
    private let dependencies: [String: [String]]

    /// Reads targets whose dependencies follow the name, with nothing but a comma between.
    init(_ text: String) {
        var dependencies: [String: [String]] = [:]
        for match in text.matches(of: /name:\s*"(\w+)",\s*dependencies:\s*\[/) {
            // Brackets within those of the list belong to it.
            var depth = 1
            let list = text[match.range.upperBound...].prefix { character in
                depth += character == "[" ? 1 : character == "]" ? -1 : 0
                return depth > 0
            }
            dependencies[String(match.1)] = list.matches(of: /"(\w+)"/).map { String($0.1) }
        }
        self.dependencies = dependencies
    }

    /// What a target depends on, directly or through others; itself too, if it is one.
    func reached(from target: String) -> Set<String> {
        guard dependencies[target] != nil else { return [] }
        var (reached, next): (Set, [String]) = ([target], [target])
        while let one = next.popLast() {
            for name in dependencies[one, default: []] where reached.insert(name).inserted { next.append(name) }
        }
        return reached
    }
}
