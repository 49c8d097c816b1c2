import { closeSync, existsSync, openSync, realpathSync } from 'node:fs';
import {
  type PreparedCommand,
  type Sandbox,
  SandboxError,
  type SandboxOptions,
  type SandboxRequest,
  type SandboxSearch,
} from '../contract/sandbox.ts';
import type { EarlierState } from '../git/repositories/earlier-keys.ts';
import { earlierState } from '../git/repositories/earlier-state.ts';
import { gitFolderSearch } from '../git/repositories/inner-git-folders.ts';
import { harmlessRepositories } from '../git/repositories/judge-repositories.ts';
import { watchRepositories } from '../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../git/repositories/repository-search.ts';
import { isProtectedName } from '../permissions/protected-paths.ts';
import { isBelow, isInside } from '../workspace/match-path.ts';
import { pathFollower } from '../workspace/real-form.ts';
import { bubblewrapArgs, sandboxEnv, splitEnv } from './bubblewrap-args.ts';
import { commandLimits } from './command-limits.ts';
import { keyPlaces } from './places/key-places.ts';
import { unguardedPlaces } from './places/later-git-places.ts';
import { checkMounts, diskPlaceOf } from './places/mount-check.ts';
import { assertOneSpelling, workspaceProblem } from './places/one-spelling.ts';
import { withSecondPlaces } from './places/second-places.ts';
import { openFirstProcess } from './private/first-process.ts';
import { otherCommandRuns, waitForOther } from './private/other-command.ts';
import { isAway } from './private/private-folder.ts';
import { createHome, homePrefix, type SandboxHome } from './private/sandbox-home.ts';
import {
  findUnfinished,
  noteNames,
  noteRunning,
  type RunningNote,
  type UnfinishedCommands,
} from './private/unfinished-commands.ts';
import { adviceForLate, probeSandbox, procProblem, testName } from './probe-sandbox.ts';
import {
  extendPlan,
  type GuardPlan,
  nameBelow,
  type PlanOptions,
  planGuards,
} from './protected-paths.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { checkNames, namesIn, watchNames } from './watch-names.ts';

/**
 * The possible paths of bubblewrap. PATH is not used, because a package manager may add a folder of the
 * repository to it. That folder can contain a program with the same name.
 */
const programs = [
  '/usr/bin/bwrap',
  '/bin/bwrap',
  '/usr/local/bin/bwrap',
  '/run/current-system/sw/bin/bwrap',
  '/nix/var/nix/profiles/default/bin/bwrap',
] as const;

const install =
  'Install bubblewrap: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap';
const permit =
  'Allow user namespaces: set kernel.unprivileged_userns_clone=1, or on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap. A container must permit them too';

/** Checks whether bubblewrap can run here, and returns a sandbox that uses it. */
export async function findBubblewrap(options: SandboxOptions): Promise<SandboxSearch> {
  const program = programs.find((path) => existsSync(path));
  if (program === undefined)
    return { ...missing, reason: 'bubblewrap is not installed', advice: install };
  const { unixSockets = false } = options;
  const filter = seccompFilter(process.arch, { unixSockets });
  if (filter === undefined) {
    const reason = `there is no filter for system calls on ${process.arch}`;
    return { ...missing, reason, advice: 'Use a machine with x64 or arm64' };
  }
  const { tested, workspace } = options;
  const unprotected =
    procProblem() ?? (workspace === undefined ? undefined : workspaceProblem(workspace));
  if (unprotected !== undefined) {
    const { reason, advice } = unprotected;
    return { sandbox: undefined, problem: 'failed', reason, advice };
  }
  const name = tested && testName(program, { unixSockets });
  if (name !== undefined && tested?.read() === name)
    return { sandbox: new Bubblewrap(program, filter, options) };
  // The probe uses no options that contain paths. Such an option must not determine whether a sandbox exists.
  const probed = new Bubblewrap(program, filter, { unixSockets });
  const failed = await probeSandbox(probed);
  probed.close();
  tested?.write(failed === undefined ? name : undefined);
  if (failed === undefined) return { sandbox: new Bubblewrap(program, filter, options) };
  const reason = `bubblewrap cannot run: ${failed.problem}`;
  const advice = failed.isLate ? adviceForLate : permit;
  return { sandbox: undefined, problem: 'failed', reason, advice };
}

const missing = { sandbox: undefined, problem: 'missing' } as const;

interface SharedPlan extends GuardPlan {
  users: number;
  readonly home: SandboxHome;
  /** The repositories before the commands. Undefined if the commands cannot change files. */
  readonly earlier: EarlierState | undefined;
  /** The note about the running commands. */
  readonly note: Promise<RunningNote> | undefined;
  /** The earlier commands that nobody has checked. */
  readonly unfinished: UnfinishedCommands | undefined;
  /** True if a command that may have changed the git folders has started, or if nobody has checked one. */
  mayHaveChangedGit: boolean;
  /** True if the last check after a command was complete. Undefined if no command has started. */
  isChecked: Promise<boolean> | undefined;
  /** Set if no other command that can change files may run. It resolves at the end of the plan. */
  readonly alone: PromiseWithResolvers<void> | undefined;
  /** The names in the workspace before the commands. Empty if the commands cannot change files. */
  readonly names: ReadonlySet<string>;
  /** Sentences about the names that earlier commands left. The first command that ends returns them. */
  readonly left: string[];
  /** The places outside of the folders that commands may change. Commands must not see them. */
  readonly hidden: readonly string[];
  /** See `harmlessRepositories`. */
  readonly harmless: Promise<ReadonlySet<string>>;
}

interface EnterOptions extends Pick<PlanOptions, 'writable' | 'canChange' | 'packages'> {
  readonly home: SandboxHome;
  /** See `SandboxRequest.isAlone`. */
  readonly isAlone: boolean;
}

function readOnlyPaths({ guarded }: GuardPlan): readonly string[] {
  return guarded.flatMap(({ path, guard }) => (guard === 'read-only' ? [path] : []));
}

/**
 * Returns the names in the workspace that a command may find there: those that the plan guards, and those from before all
 * running commands. Another command may have created all other names a moment ago.
 */
function knownNames(
  root: string,
  { guarded, watched }: GuardPlan,
  before: ReadonlySet<string>,
): ReadonlySet<string> {
  const links = watched.filter(({ link }) => link !== undefined);
  const paths = [...guarded, ...links].filter(({ path }) => isBelow(root, path));
  return new Set([...before, ...paths.map(({ path }) => nameBelow(root, path))]);
}

class Bubblewrap implements Sandbox {
  readonly name = 'bubblewrap';
  readonly profile: Sandbox['profile'];
  readonly network: boolean;
  readonly #program: string;
  readonly #filter: Uint8Array;
  /**
   * The folders with the files of the host. Usually there is only one. If commands can change the place of the
   * first folder, because a workspace contains it, the sandbox creates a second folder in another place.
   */
  readonly #homes: SandboxHome[] = [];
  readonly #options: SandboxOptions;
  /**
   * The plans of workspaces with running commands. A second command uses the plan of the first command,
   * because the running command could manipulate a new check. Outside of the workspace, it cannot do that.
   */
  readonly #plans = new Map<string, SharedPlan>();
  /** The real paths of `SandboxOptions.writable`. */
  readonly #resolved = new Map<string, string>();
  /** The ends of plans that remove or keep their notes. */
  readonly #ends = new Set<Promise<void>>();
  readonly #repositories = new RepositorySearch();
  readonly #inner = gitFolderSearch();
  readonly #packages = new PackageRepositories(this.#repositories);

  constructor(program: string, filter: Uint8Array, options: SandboxOptions) {
    this.#program = program;
    this.#filter = filter;
    this.#options = options;
    for (const path of options.writable ?? [])
      if (existsSync(path)) this.#resolved.set(path, realpathSync(path));
    this.profile = options.profile ?? 'workspace';
    this.network = options.network ?? false;
  }

  async prepare(request: SandboxRequest): Promise<PreparedCommand> {
    const left: string[] = [];
    for (let plans = 1; ; plans++)
      try {
        const prepared = await this.#prepare(request);
        if (left.length === 0) return prepared;
        return { ...prepared, finish: async () => [...left, ...(await prepared.finish())] };
      } catch (error) {
        if (!(error instanceof OutdatedPlan) || plans === maxPlans) throw error;
        left.push(...error.renamed);
      }
  }

  isChanging(root: string): boolean {
    return this.#plans.has(root);
  }

  async #prepare(request: SandboxRequest): Promise<PreparedCommand> {
    const { root, env, view = this.profile, network = this.network } = request;
    const { hide = [], pin = [], links = [], protect = [], show = [] } = request;
    const { protectNew, hideNew, changesGit = false, isAlone = false } = request;
    if (root === '/') throw cannotConfineRoot();
    const writable = this.#writable(root);
    const home = this.#homeAwayFrom([root, ...writable]);
    const { temporary, emptyFile } = home;
    const canChange = view === 'workspace';
    // This call also waits until the sandbox has checked the repositories that the last command created.
    const packages = canChange ? await this.#findPackages(root) : [];
    const shared = this.#enter(root, { writable, canChange, packages, home, isAlone });
    const opened: (() => void)[] = [];
    try {
      const folders = [root, ...writable];
      const disk = new Map(folders.map((folder) => [folder, diskPlaceOf(folder)]));
      const plan = extendPlan(shared, {
        ...{ root, writable: folders, hidden: shared.users > 1 ? shared.hidden : [] },
        ...{ protect: canChange ? protect : [], links: canChange ? links : [] },
        changesGit: changesGit || !canChange,
        names: shared.names,
      });
      const limits = commandLimits(this.#options.limits, view);
      const guardedPlaces = withSecondPlaces({ guarded: plan.guarded, hide }, folders);
      const places = { root, writable, disk, temporary, emptyFile, ...guardedPlaces };
      const guardedPaths = [
        ...guardedPlaces.guarded.map(({ path }) => path),
        ...guardedPlaces.hide,
      ];
      assertOneSpelling({
        // The closed view shows only the workspace, and files of the system.
        paths:
          view === 'closed' ? guardedPaths.filter((path) => isInside(root, path)) : guardedPaths,
        root: canChange ? root : undefined,
      });
      const { outer, inner } = splitEnv(sandboxEnv(env));
      const { args: ofPlaces, mounts } = bubblewrapArgs(
        {
          ...{ ...places, pin, show, view },
          network: network && view !== 'closed',
          path: env['PATH'] ?? '',
          limits,
        },
        request.command,
      );
      const setEnv = Object.entries(inner).flatMap((entry) => ['--setenv', ...entry]);
      const args = [...setEnv, ...ofPlaces];
      // Each command must read the filter from its start, so each command needs its own descriptor.
      const filter = openSync(`/proc/self/fd/${home.filter}`, 'r');
      opened.push(() => closeSync(filter));
      const { watched, kept, modes } = plan;
      const known = knownNames(root, plan, shared.names);
      const newNames = protectNew && { folder: root, isProtected: protectNew, known };
      const hiddenPlaces = plan.guarded.filter(({ guard }) => guard === 'hidden');
      const isHidden = new Set(hiddenPlaces.map(({ path }) => path));
      const inside = kept.map(({ path }) => path).filter((path) => isHidden.has(path));
      const hidden = { root, paths: [...hide, ...inside], isHidden: hideNew };
      const names = canChange
        ? watchNames(watched, kept, modes, newNames, hidden)
        : watchNames([], [], new Map(), undefined, hidden);
      opened.push(() => names.finish());
      const ofNote = { watched, known: protectNew && [...shared.names].filter(protectNew) };
      const forgetNote = canChange ? noteNames(home.folder, root, ofNote) : () => {};
      opened.push(forgetNote);
      const searches = { search: this.#repositories, packages: this.#packages, inner: this.#inner };
      shared.mayHaveChangedGit ||= changesGit;
      const mayHaveChanged = () => shared.mayHaveChangedGit;
      // Nobody has checked whether the earlier commands might create repositories.
      const refusesNew = !changesGit || (shared.unfinished?.seen ?? []).length > 0;
      const watch = { root, network, changesGit, refusesNew, mayHaveChanged, ...searches };
      const { harmless, earlier } = shared;
      const before = earlier && { ...earlier, earlier, harmless };
      // A command that may change git changes it itself.
      const later = canChange && !changesGit && shared.later.watch();
      if (later) opened.push(() => later.finish());
      const created = canChange && before && watchRepositories({ ...watch, ...before });
      if (created) opened.push(() => created.stop());
      const first = openFirstProcess(home.folder);
      opened.push(() => void first.gone());
      const finish = async () => {
        closeSync(filter);
        const isGone = await first.gone();
        const notes = [...shared.left.splice(0), ...(isGone ? [] : [stillRuns])];
        try {
          notes.push(...names.finish());
          if (later) notes.push(...later.finish());
        } finally {
          forgetNote(names.isRestored(), [first.left() ?? []].flat());
          // The repositories are checked before the next command gets a plan. That plan would otherwise treat
          // them as known.
          if (created) {
            shared.isChecked = isGone ? created.isComplete : Promise.resolve(false);
            notes.push(...(await created.finish()));
          }
          this.#leave(root, shared);
        }
        return notes;
      };
      const blocked = AbortSignal.any(
        [names, later, created].flatMap((one) => (one ? [one.blocked] : [])),
      );
      const program = this.#program;
      await harmless;
      if (created) {
        const [{ renamed, isComplete }] = await Promise.all([created.ready, shared.note]);
        shared.isChecked ??= Promise.resolve(renamed.length > 0 && isComplete);
        if (renamed.length > 0) throw new OutdatedPlan(root, [...shared.left, ...renamed]);
      }
      return {
        ...{ program, args, env: outer, cwd: '/', fds: [filter, first.fd], endsTogether: true },
        check: (ended) => checkMounts(first, mounts, ended),
        ...{ blocked, finish, isExposed: () => names.isExposed() },
      };
    } catch (error) {
      this.#leave(root, shared);
      closeAll(opened);
      throw error;
    }
  }

  async settled(): Promise<void> {
    await this.#packages.settled();
    await Promise.all(this.#ends);
  }

  close(): void {
    for (const home of this.#homes.splice(0)) home.remove();
  }

  #homeAwayFrom(folders: readonly string[]): SandboxHome {
    const known = this.#homes.find(({ folder }) => isAway(folder, folders));
    if (known !== undefined) return known;
    const home = createHome(this.#filter, folders);
    this.#homes.push(home);
    return home;
  }

  /**
   * Returns the real paths of the further folders that commands may change. A link is followed only once, and never inside
   * of a folder that commands may change, because a command could replace it.
   */
  #writable(root: string): readonly string[] {
    const { writable = [] } = this.#options;
    const isChangeable = (path: string) =>
      [root, ...this.#resolved.values()].some((folder) => isInside(folder, path));
    for (const path of writable)
      if (!this.#resolved.has(path) && existsSync(path) && !isChangeable(path))
        this.#resolved.set(path, realpathSync(path));
    const all = new Set(this.#resolved.values());
    return [...all].filter((path) => !isInside(root, path) && existsSync(path));
  }

  /** Returns the repositories in `node_modules` folders when no check and no end of a plan is left. */
  async #findPackages(root: string): ReturnType<PackageRepositories['find']> {
    for (;;) {
      await Promise.all(this.#ends);
      await waitForOther(root, this.#plans.get(root)?.alone?.promise);
      const packages = await this.#packages.find(root);
      if (this.#ends.size === 0 && this.#plans.get(root)?.alone === undefined) return packages;
    }
  }

  /**
   * Returns the plan of a workspace and counts its users. A command that cannot change files needs no search
   * for repositories, and it cannot manipulate a check.
   */
  #enter(root: string, { writable, canChange, packages, home, isAlone }: EnterOptions): SharedPlan {
    const running = this.#plans.get(root);
    if (running !== undefined) {
      if (isAlone) throw otherCommandRuns(root);
      const later = running.later.find();
      if (later.length > 0) throw unguardedPlaces(root, later);
      running.users++;
      return running;
    }
    const { hide = [], protect = [], programs = [] } = this.#options;
    const follow = pathFollower();
    const places = { ...keyPlaces(process.env, follow), hide, protect, programs };
    const repositories = this.#repositories;
    const folders = { root, writable: [root, ...writable] };
    // Commands of other sessions can use the same folders. No command may replace them by links.
    const nested = [root, ...this.#resolved.values()].filter((path) => existsSync(path));
    const unfinished = canChange ? findUnfinished(home.folder, homePrefix, root) : undefined;
    // The plan must not treat what the earlier commands left as the user's files.
    const left = namesLeft(root, unfinished);
    const guards = planGuards({
      ...{ ...folders, ...places, nested, canChange, repositories, packages, follow },
      isUnfinished: (unfinished?.seen ?? []).length > 0,
    });
    const hidden = [...places.keys, ...hide].filter(
      (path) => !folders.writable.some((folder) => isInside(folder, path)),
    );
    const names = new Set(canChange ? namesIn(root) : []);
    const ofPlan = {
      ...{ ...guards, users: 1, home, hidden, names, left },
      ...{ isChecked: undefined, mayHaveChangedGit: false },
      alone: isAlone ? Promise.withResolvers<void>() : undefined,
    };
    if (unfinished === undefined) return { ...ofPlan, ...ofReader };
    const about = { root, guarded: readOnlyPaths(guards), search: repositories };
    const earlier = earlierState({
      ...{ ...about, known: guards.repositories, inner: this.#inner, unchecked: unfinished.seen },
    });
    const harmless = harmlessRepositories({ ...about, known: earlier.known });
    const note = earlier.seen.then((seen) => noteRunning(home.folder, root, seen));
    // `prepare` waits for the note later.
    note.catch(() => {});
    const mayHaveChangedGit = unfinished.seen.length > 0;
    const plan = { ...ofPlan, harmless, earlier, note, unfinished, mayHaveChangedGit };
    this.#plans.set(root, plan);
    return plan;
  }

  #leave(root: string, plan: SharedPlan): void {
    plan.users--;
    if (plan.users > 0 || this.#plans.get(root) !== plan) return;
    this.#plans.delete(root);
    plan.alone?.resolve();
    const end = this.#end(plan).finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }

  /** Removes the note of a plan without users, or keeps the note if the commands were not checked completely. */
  async #end({ note, isChecked, unfinished, home }: SharedPlan): Promise<void> {
    try {
      const running = await note;
      if ((await isChecked) === false) running?.keep();
      else running?.forget();
      if (isChecked !== undefined) unfinished?.forget();
    } catch {
      // There is no note, so no command has started, or another program removed the private folder.
    }
    if (!this.#homes.includes(home)) home.remove();
  }
}

/** Maximum number of plans for one command. Each further plan follows a check that renamed something. */
const maxPlans = 3;

/** The sandbox has renamed what earlier commands left, and the plan may contain it. */
class OutdatedPlan extends SandboxError {
  readonly renamed: readonly string[];

  constructor(root: string, renamed: readonly string[]) {
    super('cannot_confine', `Cannot run the command: ${renamed.join(' ')}`, { path: root });
    this.renamed = renamed;
  }
}

/** Renames what earlier commands left that they must not create. Returns sentences about it. */
function namesLeft(root: string, unfinished: UnfinishedCommands | undefined): string[] {
  const left = (unfinished?.names ?? []).flatMap(({ watched, known }) =>
    checkNames(
      watched,
      known && { folder: root, isProtected: isProtectedName, known: new Set(known) },
    ),
  );
  return left.length === 0 ? [] : [unfinishedCommand, ...left];
}

const unfinishedCommand =
  'An earlier command in this folder was not checked completely, so the sandbox has checked the folder now.';

const stillRuns =
  'Processes of the command cannot be stopped, so the sandbox cannot check what they still do. Tell the user before git is used.';

/** Calls all functions, although some may throw. */
function closeAll([close, ...others]: readonly (() => void)[]): void {
  try {
    close?.();
  } finally {
    if (others.length > 0) closeAll(others);
  }
}

/** The parts of a plan for commands that cannot change files. */
const ofReader = {
  ...{ earlier: undefined, note: undefined, unfinished: undefined },
  harmless: Promise.resolve(new Set<string>()),
} as const;

function cannotConfineRoot(): SandboxError {
  const message =
    'Cannot run the command in a sandbox: the workspace is the whole disk (/). Choose another folder, or switch the sandbox off';
  return new SandboxError('cannot_confine', message, { path: '/' });
}
