import { endianness } from 'node:os';

// A seccomp filter is a program for the BPF machine of the kernel. The kernel runs it before each system call
// of a confined process. An instruction has 8 bytes: code (16 bits), two jump distances (8 bits each) and a
// constant (32 bits). The filter reads `struct seccomp_data`. It contains the call number at offset 0, the
// architecture at 4, and the low half of argument n at 16 + 8 n.

interface Instruction {
  readonly code: number;
  readonly jumpIf?: number;
  readonly jumpElse?: number;
  readonly constant: number;
}

const load = (offset: number): Instruction => ({ code: 0x20, constant: offset });
const and = (mask: number): Instruction => ({ code: 0x54, constant: mask });
const answer = (action: number): Instruction => ({ code: 0x06, constant: action });
const ifEqual = (constant: number, jumpIf: number, jumpElse: number): Instruction => ({
  ...{ code: 0x15, constant, jumpIf, jumpElse },
});
const ifAtLeast = (constant: number, jumpIf: number, jumpElse: number): Instruction => ({
  ...{ code: 0x35, constant, jumpIf, jumpElse },
});
const argument = (index: number) => load(16 + 8 * index);

const allow = answer(0x7fff0000);
const refuse = (errno: number) => answer(0x00050000 + errno);
const [notPermitted, noSuchCall] = [1, 38];

interface Architecture {
  /** The kernel's constant `AUDIT_ARCH_…` of the architecture. */
  readonly audit: number;
  /**
   * The first call number of a different calling convention. The filter refuses this number and all higher
   * ones.
   */
  readonly maxCall: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly ioctl: number;
  readonly fcntl: number;
  readonly clone: number;
  /** The calls that set the permissions of a file, with the index of the argument for the permissions. */
  readonly modes: readonly (readonly [call: number, mode: number])[];
  /** The calls that open a file, with the indexes of the arguments for the flags and the permissions. */
  readonly opens: readonly (readonly [call: number, flags: number, mode: number])[];
  /** The refused calls whose numbers depend on the architecture. See also `refusedEverywhere`. */
  readonly refused: readonly number[];
}

/**
 * The numbers of system calls by architecture. The refused calls are for tracing (ptrace, process_vm_*,
 * kcmp), keys, mounts, roots and namespaces. They also include calls for kernel modules and images, swap,
 * clocks, files by handle, and system-wide events.
 */
const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    audit: 0xc000003e,
    maxCall: 0x40000000,
    ...{ socket: 41, socketpair: 53, ioctl: 16, fcntl: 72, clone: 56 },
    // `modes`: chmod, fchmod, fchmodat, fchmodat2, creat, mknod and mknodat. `opens`: open and openat.
    modes: [
      [90, 1],
      [91, 1],
      [268, 2],
      [452, 2],
      [85, 1],
      [133, 1],
      [259, 2],
    ],
    opens: [
      [2, 1, 2],
      [257, 2, 3],
    ],
    refused: [
      ...[101, 310, 311, 312, 248, 249, 250, 165, 166, 155, 161, 272, 308, 321, 298, 323],
      ...[246, 320, 174, 175, 176, 313, 303, 304, 167, 168, 169, 103, 163, 179, 164, 227, 305],
      ...[153, 172, 173, 212, 180, 134, 300, 279, 256, 154],
    ],
  },
  arm64: {
    audit: 0xc00000b7,
    maxCall: 0x40000000,
    ...{ socket: 198, socketpair: 199, ioctl: 29, fcntl: 25, clone: 220 },
    // `modes`: fchmod, fchmodat, fchmodat2 and mknodat. `opens`: openat.
    modes: [
      [52, 1],
      [53, 2],
      [452, 2],
      [33, 2],
    ],
    opens: [[56, 2, 3]],
    refused: [
      ...[117, 270, 271, 272, 217, 218, 219, 40, 39, 41, 51, 97, 268, 280, 241, 282],
      ...[104, 294, 105, 106, 273, 264, 265, 224, 225, 142, 116, 89, 60, 170, 112, 266],
      ...[58, 18, 42, 262, 239, 238],
    ],
  },
};

/**
 * The refused calls that have the same number on both architectures: io_uring, which bypasses this filter,
 * the newer mount calls, pidfd_getfd, quotactl_fd and open_tree_attr.
 */
const refusedEverywhere = [
  ...[425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467],
] as const;

/**
 * The filter refuses clone3, because it cannot read the flags, which are in memory. The C library then uses
 * clone.
 */
const clone3 = 435;
/**
 * The filter refuses openat2, because it cannot read the permissions, which are in memory. Programs then use
 * openat.
 */
const openat2 = 437;
/**
 * With these bits, a program runs with the rights of its owner or group. A different user of the machine
 * could start such a program outside of the sandbox. The filter refuses the setgid bit (0o2000) even if nobody may
 * execute the file: an access control list can permit that later, and the filter cannot read the list. The bit is
 * harmless on a folder, but the filter cannot see whether a path is a folder.
 */
const raisedRights = 0o6000;
/**
 * The flags with which a call creates a file: O_CREAT and O_TMPFILE. Without them, the call sets no
 * permissions.
 */
const createFlags = 0o20000100;
/** The flags of clone that create namespaces. */
const namespaceFlags = 0x7e020000;
/** The ioctl requests TIOCSTI and TIOCLINUX. They insert input into a terminal. */
const typingRequests = [0x5412, 0x541c] as const;
/**
 * The types of ioctl requests of btrfs (0x94) and bcachefs (0xbc). A snapshot shows the files below the mounts of the
 * sandbox, and a read-only subvolume cannot be renamed. Users need no capability for both. Requests of the other file
 * systems need a capability, or change only an open file.
 */
const volumeTypes = [0x94, 0xbc] as const;
/** FICLONE, FICLONERANGE and FIDEDUPERANGE copy open files on many file systems. They have the type of btrfs. */
const cloneRequests = [0x40049409, 0x4020940d, 0xc0189436] as const;
/**
 * The type and number of further refused requests: files by handle of XFS ('X' 104 to 108, 122 and 123), and policies
 * and keys of encrypted folders ('f' 19, and 23 to 25). Without its key, nobody can rename what such a folder contains.
 */
const fileSystemRequests = [
  ...[0x5868, 0x5869, 0x586a, 0x586b, 0x586c, 0x587a, 0x587b],
  ...[0x6613, 0x6617, 0x6618, 0x6619],
] as const;
/**
 * The commands F_SETLEASE and F_SETDELEG of fcntl. They work on the user's files in read-only mounts. As long as a
 * command holds a lease, every program that opens the file waits, for 45 seconds by default.
 */
const leaseCommands = [1024, 1040] as const;
/** The bits of the type and the number in a request of ioctl. The other bits are the size and the direction. */
const typeAndNumber = 0xffff;
const requestType = 0xff00;
/**
 * The allowed address families: the Internet (2 and 10), and netlink (16), which lists network
 * interfaces.
 */
const allowedFamilies = [2, 10, 16] as const;
const unixFamily = 1;
/**
 * The allowed types of socket pairs: streams (1) and packets (5). A datagram pair (2, or 3 with the same
 * meaning) can be reconnected to a socket outside of the sandbox.
 */
const pairTypes = [1, 5] as const;
const datagramTypes = [2, 3] as const;
const typeMask = 0xf;

/** Options of `seccompFilter`. */
interface FilterOptions {
  /** True if UNIX sockets are allowed. */
  readonly unixSockets: boolean;
}

/**
 * Returns the seccomp program for a Node.js architecture. Returns undefined if the architecture is not
 * supported. The program refuses system calls that no build needs and that could lead out of a sandbox.
 */
export function seccompFilter(
  architecture: string,
  { unixSockets }: FilterOptions,
): Uint8Array | undefined {
  const machine = architectures[architecture];
  if (machine === undefined || endianness() !== 'LE') return undefined;
  const types = [...pairTypes, ...(unixSockets ? datagramTypes : [])];
  const families = [...allowedFamilies, ...(unixSockets ? [unixFamily] : [])];
  return encode([
    load(4),
    ifEqual(machine.audit, 1, 0),
    refuse(noSuchCall),
    load(0),
    ifAtLeast(machine.maxCall, 0, 1),
    refuse(noSuchCall),
    ...refuseEach([...machine.refused, ...refusedEverywhere]),
    ...[clone3, openat2].flatMap((call) => [ifEqual(call, 0, 1), refuse(noSuchCall)]),
    ...machine.modes.flatMap(([call, mode]) => whenCall(call, refuseRaisedRights(mode))),
    ...machine.opens.flatMap(([call, flags, mode]) =>
      whenCall(call, [
        argument(flags),
        and(createFlags),
        ifEqual(0, 0, 1),
        allow,
        ...refuseRaisedRights(mode),
      ]),
    ),
    ...whenCall(machine.clone, [
      argument(0),
      and(namespaceFlags),
      ifEqual(0, 1, 0),
      refuse(notPermitted),
    ]),
    ...whenCall(machine.ioctl, [
      argument(1),
      ...refuseEach(typingRequests),
      ...cloneRequests.flatMap((request) => [ifEqual(request, 0, 1), allow]),
      and(typeAndNumber),
      ...refuseEach(fileSystemRequests),
      and(requestType),
      ...refuseEach(volumeTypes.map((type) => type << 8)),
    ]),
    ...whenCall(machine.fcntl, [argument(1), ...refuseEach(leaseCommands)]),
    ...whenCall(machine.socket, [
      argument(0),
      ...families.flatMap((family) => [ifEqual(family, 0, 1), allow]),
      refuse(notPermitted),
    ]),
    ...whenCall(machine.socketpair, [
      argument(0),
      ifEqual(unixFamily, 1, 0),
      refuse(notPermitted),
      argument(1),
      and(typeMask),
      ...types.flatMap((type) => [ifEqual(type, 0, 1), allow]),
      refuse(notPermitted),
    ]),
    allow,
  ]);
}

function refuseRaisedRights(mode: number): readonly Instruction[] {
  return [argument(mode), and(raisedRights), ifEqual(0, 1, 0), refuse(notPermitted)];
}

/** Returns instructions that refuse a call if the loaded value is in the list. */
function refuseEach(values: readonly number[]): readonly Instruction[] {
  return values.flatMap((value) => [ifEqual(value, 0, 1), refuse(notPermitted)]);
}

/**
 * Returns instructions that run the block for one call. The block may change the loaded value, so the program
 * must end after the block.
 */
function whenCall(call: number, block: readonly Instruction[]): readonly Instruction[] {
  return [ifEqual(call, 0, block.length + 1), ...block, allow];
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(8 * program.length);
  program.forEach(({ code, jumpIf = 0, jumpElse = 0, constant }, index) => {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(jumpIf, 8 * index + 2);
    bytes.writeUInt8(jumpElse, 8 * index + 3);
    bytes.writeUInt32LE(constant >>> 0, 8 * index + 4);
  });
  return bytes;
}
