import { basename, dirname, join, relative, sep } from 'node:path';
import type { SandboxProfile } from '../../contract/sandbox.ts';
import { isBelow } from '../../workspace/match-path.ts';
import { entryOf, pathFollower } from '../../workspace/real-form.ts';
import { personalFolders } from '../places/closed-view.ts';

/** The permissions that a profile describes, with absolute paths. */
export interface MacosView {
  readonly root: string;
  readonly view: SandboxProfile | 'closed';
  readonly network: boolean;
  readonly unixSockets: boolean;
  readonly temporary: string;
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly protected: readonly string[];
  /** The git paths that no command may change. */
  readonly git: readonly string[];
  /** The folders that no command may rename. */
  readonly pinned: readonly string[];
}

const devices = ['/dev/null', '/dev/zero', '/dev/stdout', '/dev/stderr', '/dev/dtracehelper'];
const randomDevices = ['/dev/random', '/dev/urandom'];

/**
 * The system services that commands may call: user and group names, the folder for temporary files, logs and
 * notifications. Any other service could act for a command outside of the sandbox. Examples are `launchd`,
 * which starts programs, the keychain, the clipboard, and download services.
 */
const services = [
  ...['com.apple.system.opendirectoryd.libinfo', 'com.apple.system.opendirectoryd.membership'],
  ...['com.apple.bsd.dirhelper', 'com.apple.system.logger', 'com.apple.logd'],
  'com.apple.system.notification_center',
];

/** More services for commands with network access: the addresses of name servers, and certificates. */
const networkServices = [
  ...['com.apple.SystemConfiguration.DNSConfiguration', 'com.apple.SystemConfiguration.configd'],
  ...['com.apple.networkd', 'com.apple.ocspd', 'com.apple.trustd', 'com.apple.trustd.agent'],
];

/**
 * The kernel values that commands may read. They do not include `kern.procargs2`, which contains the
 * environment of other processes. The environment of the agent contains keys.
 */
const kernelValues = [
  ...['argmax', 'boottime', 'hostname', 'maxfiles', 'maxfilesperproc', 'maxproc', 'ngroups'],
  ...['osproductversion', 'osrelease', 'ostype', 'osvariant_status', 'osversion'],
  ...['secure_kernel', 'tcsm_available', 'tcsm_enable', 'usrstack64', 'version'],
].map((name) => `kern.${name}`);
const otherValues = ['vm.loadavg', 'sysctl.proc_cputype', 'security.mac.lockdown_mode_state'];
const valuePrefixes = ['hw.', 'machdep.cpu.'];

/**
 * Returns the profile for macOS. It denies everything that no rule allows. The last matching rule decides, so
 * rules that deny come after rules that allow. A rule also covers a path that does not exist yet.
 */
export function macosProfile(view: MacosView): string {
  const { root, network, temporary } = view;
  const isClosed = view.view === 'closed';
  const writable = view.view === 'workspace' ? [root, ...view.writable] : [];
  // The profile matches only real paths, and a `.git` can be a link. Both paths are therefore included.
  const named = [...view.git, ...view.git.flatMap(besideConfig), ...view.protected];
  const guarded = withRealPaths(named);
  const parents = new Set(guarded.flatMap((path) => foldersBetween(root, path)));
  return [
    '(version 1)',
    '(deny default)',
    // Some macOS releases do not include these operations in `default`. A hard link or a clone would give a
    // guarded or hidden file a second name to which no rule below applies.
    '(deny file-link file-clone process-info* nvram* iokit-get-properties)',
    '(allow process-exec process-fork mach-host* user-preference-read ipc-posix-sem)',
    '(allow signal (target same-sandbox))',
    '(allow process-info* (target same-sandbox))',
    // Libraries for parallel computing terminate the program if they cannot open this shared memory.
    `(allow ipc-posix-shm-read-data ipc-posix-shm-write-create ipc-posix-shm-write-unlink (ipc-posix-name-regex ${quote('^/__KMP_REGISTERED_LIB_[0-9]+$')}))`,
    '(allow ipc-posix-shm-read-data (ipc-posix-name "apple.shm.notification_center"))',
    rule('allow mach-lookup', 'global-name', [...services, ...(network ? networkServices : [])]),
    rule('allow sysctl-read', 'sysctl-name', [...kernelValues, ...otherValues]),
    rule('allow sysctl-read', 'sysctl-name-prefix', [
      ...valuePrefixes,
      ...(network ? ['net.routetable.'] : []),
    ]),
    // Node and Java read these values with an operation that counts as a write.
    rule('allow sysctl-write', 'sysctl-name', ['kern.tcsm_enable', 'kern.grade_cputype']),
    ...(network ? networkRules(view) : []),
    '(allow file-read* file-map-executable)',
    // A command without an approval must not leave files for the next command.
    rule('allow file-write*', 'subpath', [...(isClosed ? [] : [temporary]), ...writable]),
    rule('allow file-write*', 'literal', devices),
    rule('allow file-ioctl', 'literal', [...devices, ...randomDevices]),
    // The user's terminals (`/dev/ttys…`) are not included, because a terminal would interpret the written
    // text.
    '(allow file-write* (literal "/dev/tty") (regex #"^/dev/fd/"))',
    rule('deny file-write*', 'subpath', guarded),
    rule('deny file-write*', 'regex', guarded.flatMap(otherSpellings(root))),
    // Without this rule, a command could move a parent folder away and put a different folder in its place.
    rule('deny file-write-unlink', 'literal', [root, ...parents, ...view.pinned]),
    ...(isClosed
      ? [
          rule('deny file-read*', 'subpath', personalFolders),
          rule('allow file-read-metadata', 'literal', foldersAbove(root)),
          rule('allow file-read*', 'subpath', [root]),
        ]
      : []),
    rule('deny file-read* file-write*', 'subpath', withRealPaths(view.hidden)),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function networkRules({ unixSockets }: MacosView): readonly string[] {
  const all = '(allow network* system-socket)';
  if (unixSockets) return [all];
  return [
    all,
    '(deny network-outbound (remote unix-socket))',
    '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
  ];
}

type Filter =
  | ('literal' | 'subpath' | 'regex')
  | ('global-name' | 'sysctl-name' | 'sysctl-name-prefix');

function rule(action: string, filter: Filter, values: readonly string[]): string {
  const filters = values.map((value) => `(${filter} ${quote(value)})`);
  return filters.length === 0 ? '' : `(${action} ${filters.join(' ')})`;
}

/** Quotes a text for the profile language, in which a backslash is the escape character. */
function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/** Returns the given paths and their real paths. The profile matches only real paths. */
function withRealPaths(paths: readonly string[]): readonly string[] {
  const follow = pathFollower();
  return [...new Set([...paths, ...paths.map((path) => follow(path).real)])];
}

/**
 * Returns a regular expression for all spellings of a missing path in the root. The file system of macOS
 * usually ignores letter case, so git would treat `.GIT` as a repository.
 */
function otherSpellings(root: string): (path: string) => readonly string[] {
  return (path) => {
    if (!isBelow(root, path) || entryOf(path) !== undefined) return [];
    const names = relative(root, path).split(sep).map(inAnyCase);
    return [`^${escaped(root)}/${names.join('/')}(/|$)`];
  };
}

/** The letters of other alphabets that a file system treats as equal to a Latin letter. */
const otherLetters: ReadonlyMap<string, string> = new Map([
  ['s', '\u017F'],
  ['k', '\u212A'],
]);

/** The characters that a file system treats as equal to several Latin letters. */
const joinedLetters: readonly (readonly [letters: string, joined: string])[] = [
  ...([
    ['ffi', '\uFB03'],
    ['ffl', '\uFB04'],
    ['ff', '\uFB00'],
    ['fi', '\uFB01'],
  ] as const),
  ...([
    ['fl', '\uFB02'],
    ['st', '\uFB05|\uFB06'],
    ['ss', '\u00DF|\u1E9E'],
  ] as const),
];

function inAnyCase(name: string): string {
  const [char = ''] = name;
  if (char === '') return '';
  const lower = char.toLowerCase();
  const forms = [lower, char.toUpperCase(), otherLetters.get(lower) ?? ''];
  const different = [...new Set(forms)].filter((form) => form !== '').map(escaped);
  const single = different.length === 1 ? escaped(char) : `(${different.join('|')})`;
  const separate = `${single}${inAnyCase(name.slice(char.length))}`;
  const joined = joinedLetters
    .filter(([letters]) => name.slice(0, letters.length).toLowerCase() === letters)
    .map(([letters, one]) => `(${one})${inAnyCase(name.slice(letters.length))}`);
  return joined.length === 0 ? separate : `(${[separate, ...joined].join('|')})`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** Returns more paths to guard in a repository whose settings are guarded. The paths may not exist. */
function besideConfig(place: string): readonly string[] {
  if (basename(place) !== 'config') return [];
  const names = ['hooks', 'config.worktree', 'modules', 'worktrees'];
  return names.map((name) => join(dirname(place), name));
}

function foldersBetween(root: string, path: string): readonly string[] {
  return foldersAbove(path).filter((folder) => isBelow(root, folder));
}

function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...foldersAbove(parent)];
}
