import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type {
  PreparedCommand,
  SandboxOptions,
  SandboxRequest,
  SandboxSearch,
} from '../../contract/sandbox.ts';
import { harmlessRepositories } from '../../git/repositories/judge-repositories.ts';
import { watchRepositories } from '../../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { commandLimits, withLimits } from '../command-limits.ts';
import { gitPlaces, otherSettings } from '../places/git-places.ts';
import { keyPlaces } from '../places/key-places.ts';
import { emptySubmodules } from '../places/later-git-places.ts';
import { otherCommandRuns } from '../private/other-command.ts';
import { adviceForLate, probeSandbox } from '../probe-sandbox.ts';
import { watchNames } from '../watch-names.ts';
import { macosProfile } from './macos-profile.ts';

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
  const search = new RepositorySearch();
  const packages = new PackageRepositories(search);
  /** The number of running commands that can change files, by workspace. */
  const running = new Map<string, number>();
  const isChanging = (root: string) => (running.get(root) ?? 0) > 0;
  const count = (root: string, change: 1 | -1) =>
    void running.set(root, (running.get(root) ?? 0) + change);
  const prepareWith = async (
    { writable = [], hide = [], protect = [], programs = [] }: SandboxOptions,
    request: SandboxRequest,
  ): Promise<PreparedCommand> => {
    const { root, view = profile, changesGit = false } = request;
    const { keys, startUp } = keyPlaces(process.env);
    const canChange = view === 'workspace';
    if (request.isAlone === true && isChanging(root)) throw otherCommandRuns(root);
    const known = canChange ? await packages.find(root) : [];
    const ofGit = canChange ? gitPlaces(root, search, { packages: known }) : undefined;
    const mayConnect = (request.network ?? network) && view !== 'closed';
    const watch = { root, network: mayConnect, changesGit, search, packages };
    const before = ofGit && { known: ofGit.below, guarded: ofGit.guarded };
    const harmless = before && harmlessRepositories({ root, search, ...before });
    const created = harmless && watchRepositories({ ...watch, ...before, harmless });
    const { protectNew } = request;
    const names =
      canChange && protectNew
        ? watchNames([], [], new Map(), { folder: root, isProtected: protectNew })
        : undefined;
    const settings = [...otherSettings, ...protect, ...(request.protect ?? [])].map((path) =>
      resolve(root, path),
    );
    const gitFolders =
      changesGit || ofGit === undefined
        ? []
        : [...ofGit.folders, ...emptySubmodules(root, search, ofGit.below)];
    const text = macosProfile({
      ...{ root, view, temporary, unixSockets, writable },
      git: [...(ofGit?.guarded ?? []), ...(ofGit?.programs ?? []), ...gitFolders],
      network: mayConnect,
      hidden: [...keys, ...hide, ...(request.hide ?? [])],
      protected: [...startUp, ...programs, ...settings],
      pinned: [...(request.pin ?? []), ...(request.links ?? [])],
    });
    await harmless;
    await created?.ready;
    if (canChange) count(root, 1);
    return {
      program,
      args: ['-p', text, '--', ...withLimits(request.command, commandLimits(options.limits, view))],
      env: { ...request.env, TMPDIR: temporary, XDG_CACHE_HOME: join(temporary, '.cache') },
      ...{ fds: [], endsTogether: false },
      blocked: AbortSignal.any([created, names].flatMap((one) => one?.blocked ?? [])),
      finish: async () => {
        if (canChange) count(root, -1);
        return [...(names?.finish() ?? []), ...((await created?.finish()) ?? [])];
      },
    };
  };
  const settled = () => packages.settled();
  const common = { name: 'sandbox-exec', profile, network, settled, isChanging, close } as const;
  // The probe uses no options, because an option can contain any path. Such a path must not determine whether
  // a sandbox exists.
  const failed = await probeSandbox({ prepare: (request) => prepareWith({}, request) });
  if (failed === undefined)
    return { sandbox: { ...common, prepare: (request) => prepareWith(options, request) } };
  close();
  const reason = `sandbox-exec cannot run: ${failed.problem}`;
  const advice = failed.isLate ? adviceForLate : 'Run the agent in a container or a VM';
  return { sandbox: undefined, problem: 'failed', reason, advice };
}
