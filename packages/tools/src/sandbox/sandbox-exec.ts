import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type {
  PreparedCommand,
  SandboxOptions,
  SandboxProfile,
  SandboxRequest,
  SandboxSearch,
} from '../contract/sandbox.ts';
import { watchRepositories } from '../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { commandLimits, withLimits } from './command-limits.ts';
import { gitPlaces, otherSettings } from './git-places.ts';
import { keyPlaces } from './key-places.ts';
import { probeSandbox } from './probe-sandbox.ts';
import { isBelow, realPathOf } from './protected-paths.ts';

const program = '/usr/bin/sandbox-exec';

/** Checks whether the sandbox of macOS can run here, and returns a sandbox that uses it. */
export async function findSandboxExec(options: SandboxOptions): Promise<SandboxSearch> {
  if (!existsSync(program)) {
    const reason = `${program} does not exist`;
    return {
      sandbox: undefined,
      problem: 'missing',
      reason,
      advice: 'Run the agent in a container or a VM',
    };
  }
  const temporary = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-sandbox-')));
  const close = () => {
    process.off('exit', close);
    rmSync(temporary, { recursive: true, force: true });
  };
  process.once('exit', close);
  const { profile = 'workspace', network = false, unixSockets = false } = options;
  const limits = commandLimits(options.limits);
  const search = new RepositorySearch();
  const packages = new PackageRepositories(search);
  const prepareWith = async (
    { writable = [], hide = [], protect = [], programs = [] }: SandboxOptions,
    request: SandboxRequest,
  ): Promise<PreparedCommand> => {
    const { root, view = profile } = request;
    const { keys, startUp } = keyPlaces(process.env);
    const canChange = view === 'workspace';
    const known = canChange ? await packages.find(root) : [];
    const ofGit = canChange ? gitPlaces(root, search, { packages: known }) : undefined;
    const mayConnect = (request.network ?? network) && view !== 'closed';
    const watch = { root, network: mayConnect, search, packages };
    const created = ofGit && watchRepositories({ ...watch, known: ofGit.below });
    const settings = [...otherSettings, ...protect].map((path) => resolve(root, path));
    const text = sandboxExecProfile({
      ...{ root, view, temporary, unixSockets, writable, git: ofGit?.guarded ?? [] },
      network: mayConnect,
      hidden: [...keys, ...hide, ...(request.hide ?? [])],
      protected: [...startUp, ...programs, ...settings],
    });
    return {
      program,
      args: ['-p', text, '--', ...withLimits(request.command, limits)],
      env: { ...request.env, TMPDIR: temporary, XDG_CACHE_HOME: join(temporary, '.cache') },
      ...{ fds: [], endsTogether: false },
      blocked: created?.blocked ?? new AbortController().signal,
      finish: async () => (await created?.finish()) ?? [],
    };
  };
  const settled = () => packages.settled();
  const common = { name: 'sandbox-exec', profile, network, settled, close } as const;
  // The probe uses none of the options, because an option can name any path. Such a path must not decide
  // whether there is a sandbox.
  const problem = await probeSandbox({ ...common, prepare: (request) => prepareWith({}, request) });
  if (problem === undefined)
    return { sandbox: { ...common, prepare: (request) => prepareWith(options, request) } };
  close();
  const reason = `sandbox-exec cannot run: ${problem}`;
  return {
    sandbox: undefined,
    problem: 'failed',
    reason,
    advice: 'Run the agent in a container or a VM',
  };
}

/** The permissions that a profile describes, with absolute paths. */
export interface SandboxExecView {
  readonly root: string;
  readonly view: SandboxProfile | 'closed';
  readonly network: boolean;
  readonly unixSockets: boolean;
  readonly temporary: string;
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly protected: readonly string[];
  /** The places of git that no command may change. */
  readonly git: readonly string[];
}

/** The folders that the closed view hides. The workspace stays visible. */
const personalFolders = ['/Users', '/Volumes', '/private/var', '/private/tmp', '/private/etc'];
const devices = ['/dev/null', '/dev/zero', '/dev/stdout', '/dev/stderr', '/dev/dtracehelper'];

/**
 * Returns the profile for macOS. The last matching rule decides, so rules that deny come after rules that
 * allow. A rule also covers a path that does not exist yet.
 */
export function sandboxExecProfile(view: SandboxExecView): string {
  const { root, network, unixSockets, temporary } = view;
  const isClosed = view.view === 'closed';
  const writable = view.view === 'workspace' ? [root, ...view.writable] : [];
  // The profile matches real paths, and a `.git` can be a link, so both paths are included.
  const named = [...view.git, ...view.git.flatMap(besideConfig), ...view.protected];
  const guarded = [...new Set([...named, ...named.map(realPathOf)])];
  const parents = new Set(guarded.flatMap((path) => foldersBetween(root, path)));
  return [
    '(version 1)',
    '(allow default)',
    ...(network ? [] : ['(deny network*)']),
    ...(network && !unixSockets
      ? [
          '(deny network-outbound (remote unix-socket))',
          '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
        ]
      : []),
    '(deny signal)',
    '(allow signal (target same-sandbox))',
    '(deny process-info*)',
    '(allow process-info* (target same-sandbox))',
    ...['(deny appleevent-send)', '(deny lsopen)', '(deny system-privilege)', '(deny mach-priv*)'],
    '(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.securityd"))',
    '(deny file-write*)',
    // A command that was not approved must not leave files for the next command.
    rule('allow file-write*', 'subpath', [...(isClosed ? [] : [temporary]), ...writable]),
    rule('allow file-write*', 'literal', devices),
    // The terminals of the user (`/dev/ttys…`) are not included, because they would interpret what a
    // command writes.
    '(allow file-write* (literal "/dev/tty") (regex #"^/dev/fd/"))',
    rule('deny file-write*', 'subpath', guarded),
    // Without this rule, a command could move a parent folder away and put another one in its place.
    rule('deny file-write-unlink', 'literal', [root, ...parents]),
    ...(isClosed
      ? [
          rule('deny file-read*', 'subpath', personalFolders),
          rule('allow file-read-metadata', 'literal', foldersAbove(root)),
          rule('allow file-read*', 'subpath', [root]),
        ]
      : []),
    rule('deny file-read* file-write*', 'subpath', view.hidden),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

function rule(action: string, filter: 'literal' | 'subpath', paths: readonly string[]): string {
  const filters = paths.map((path) => `(${filter} ${quote(path)})`);
  return filters.length === 0 ? '' : `(${action} ${filters.join(' ')})`;
}

/** Quotes a path for the profile language, in which a backslash is the escape character. */
function quote(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&')}"`;
}

/** Returns further places of a repository whose settings are guarded. The paths may not exist. */
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
