/// Reads something of a machine that a class keeps, without a copy of the machine.
///
/// A computed property that is read through a class (`host.client.phase`) is called on a copy of the whole machine,
/// with a count for each reference in it, since the compiler must expect that the call changes what the class keeps.
/// Exclusive access rules that out. So all that a turn reads is read here. `body` must not reach the class that keeps the
/// machine.
@inlinable
@inline(__always)
package func inPlace<Machine, Result>(_ machine: inout Machine, _ body: (inout Machine) -> Result) -> Result {
    body(&machine)
}
