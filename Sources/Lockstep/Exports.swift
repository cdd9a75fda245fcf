// A program that imports Lockstep sees the words of the log, the reader and writer of bytes, and the node.
@_exported public import LockstepCore
@_exported public import LockstepNode
