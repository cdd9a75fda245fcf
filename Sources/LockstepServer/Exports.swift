// A program needs no other import: its reactors are Lockstep's, its commands and options ArgumentParser's.
@_exported public import ArgumentParser
@_exported public import Lockstep
