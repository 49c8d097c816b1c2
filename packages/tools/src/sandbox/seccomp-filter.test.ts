import { describe, expect, test } from 'vitest';
import { seccompFilter } from './seccomp-filter.ts';

// Runs the filter program in the same way as the kernel, for architectures other than this machine's.

interface Call {
  readonly number: number;
  readonly audit: number;
  readonly args?: readonly number[];
}

/** Returns `allow`, or the number of the error. */
function decide(program: Uint8Array, { number, audit, args = [] }: Call): 'allow' | number {
  const bytes = Buffer.from(program);
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(audit >>> 0, 4);
  for (const [index, value] of args.entries()) data.writeUInt32LE(value >>> 0, 16 + 8 * index);
  let loaded = 0;
  for (let at = 0; at < bytes.length / 8; at++) {
    const constant = bytes.readUInt32LE(8 * at + 4);
    const jump = (isTrue: boolean) => bytes.readUInt8(8 * at + (isTrue ? 2 : 3));
    switch (bytes.readUInt16LE(8 * at)) {
      case 0x20:
        loaded = data.readUInt32LE(constant);
        break;
      case 0x54:
        loaded = (loaded & constant) >>> 0;
        break;
      case 0x15:
        at += jump(loaded === constant);
        break;
      case 0x35:
        at += jump(loaded >= constant);
        break;
      case 0x06:
        return constant === 0x7fff0000 ? 'allow' : constant & 0xffff;
      default:
        throw new Error(`Unknown instruction at ${at}`);
    }
  }
  throw new Error('The program has no end');
}

const machines = [
  {
    name: 'x64',
    audit: 0xc000003e,
    ...{
      read: 0,
      socket: 41,
      socketpair: 53,
      ioctl: 16,
      fcntl: 72,
      clone: 56,
      ptrace: 101,
      mount: 165,
    },
    ...{ execve: 59, unshare: 272, connect: 42, keyctl: 250 },
  },
  {
    name: 'arm64',
    audit: 0xc00000b7,
    ...{
      read: 63,
      socket: 198,
      socketpair: 199,
      ioctl: 29,
      fcntl: 25,
      clone: 220,
      ptrace: 117,
      mount: 40,
    },
    ...{ execve: 221, unshare: 97, connect: 203, keyctl: 219 },
  },
] as const;

describe.for(machines)('on $name', (machine) => {
  const filter = (unixSockets = false) =>
    seccompFilter(machine.name, { unixSockets }) ?? new Uint8Array();
  const call = (number: number, ...args: readonly number[]) =>
    decide(filter(), { number, args, audit: machine.audit });

  test('ordinary calls are allowed', () => {
    for (const number of [machine.read, machine.execve, machine.connect, 434, 436])
      expect(call(number)).toBe('allow');
  });

  test('files get no setuid or setgid bit, and openat2, which hides them, does not exist', () => {
    const fchmodat2 = 452;
    for (const mode of [0o755, 0o1777]) expect(call(fchmodat2, 0, 0, mode)).toBe('allow');
    for (const mode of [0o4755, 0o4644, 0o2755, 0o2010, 0o6711, 0o2644])
      expect(call(fchmodat2, 0, 0, mode)).toBe(1);
    expect(call(437)).toBe(38);
  });

  test('tracing, mounts, namespaces, keys and io_uring are refused', () => {
    for (const number of [machine.ptrace, machine.mount, machine.unshare, machine.keyctl, 425, 438])
      expect(call(number)).toBe(1);
  });

  test('processes and threads can be created, but no namespaces, and clone3 does not exist', () => {
    expect(call(machine.clone, 0x11)).toBe('allow');
    expect(call(machine.clone, 0x3d0f00)).toBe('allow');
    for (const flag of [
      0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000,
    ])
      expect(call(machine.clone, flag | 0x11)).toBe(1);
    expect(call(435)).toBe(38);
  });

  test('only Internet sockets can be created, and connected pairs', () => {
    for (const family of [2, 10, 16]) expect(call(machine.socket, family, 1)).toBe('allow');
    for (const family of [0, 1, 15, 17, 31, 38, 40])
      expect(call(machine.socket, family, 1)).toBe(1);
    const flags = 0x80800;
    for (const type of [1, 5]) expect(call(machine.socketpair, 1, type | flags)).toBe('allow');
    for (const type of [2, 3]) expect(call(machine.socketpair, 1, type | flags)).toBe(1);
    expect(call(machine.socketpair, 30, 1)).toBe(1);
  });

  test('UNIX sockets can be allowed', () => {
    const open = (number: number, ...args: readonly number[]) =>
      decide(filter(true), { number, args, audit: machine.audit });
    expect(open(machine.socket, 1, 1)).toBe('allow');
    expect(open(machine.socketpair, 1, 2)).toBe('allow');
    expect(open(machine.socket, 40, 1)).toBe(1);
  });

  test('nothing can be typed into a terminal', () => {
    expect(call(machine.ioctl, 0, 0x5401)).toBe('allow');
    expect(call(machine.ioctl, 0, 0x5412)).toBe(1);
    expect(call(machine.ioctl, 0, 0x541c)).toBe(1);
  });

  test('no file gets a lease or a delegation, and other requests for open files are allowed', () => {
    for (const command of [1024, 1040]) expect(call(machine.fcntl, 3, command, 1)).toBe(1);
    for (const command of [0, 4, 6, 1025, 1026, 1030, 1033])
      expect(call(machine.fcntl, 3, command)).toBe('allow');
  });

  test('no snapshot and no subvolume can be made, and files can share their content', () => {
    // Requests of btrfs, bcachefs, XFS and encrypted folders.
    for (const request of [0x50009417, 0x50009401, 0x4008941a, 0x4020bc10, 0x4038586b, 0xc0506617])
      expect(call(machine.ioctl, 3, request)).toBe(1);
    // FICLONE, FICLONERANGE, FIDEDUPERANGE, FIONREAD, FS_IOC_SETFLAGS, FS_IOC_FIEMAP and FS_IOC_FSGETXATTR.
    for (const request of [
      ...[0x40049409, 0x4020940d, 0xc0189436, 0x541b, 0x40086602, 0xc020660b, 0x801c581f],
    ])
      expect(call(machine.ioctl, 3, request)).toBe('allow');
  });

  test('calls of another architecture or convention do not exist', () => {
    expect(decide(filter(), { number: machine.read, audit: 0x40000003 })).toBe(38);
    expect(call(0x40000000 + machine.read)).toBe(38);
  });
});

test('there is no filter for other architectures', () => {
  expect(seccompFilter('riscv64', { unixSockets: false })).toBeUndefined();
});
