import type { FoundRepository } from './repository-search.ts';

/**
 * One key for each thing that existed before a command, see `earlierKey`. A check accepts these things, and judges all
 * others. A process that is killed leaves its keys to the next process. All kinds of things are in one set, so the next
 * process judges each kind.
 */
export type EarlierKeys = ReadonlySet<string>;

/** Returns the key of a thing. The parts are a kind, paths and other texts without zero bytes. */
export function earlierKey(kind: string, ...parts: readonly string[]): string {
  return [kind, ...parts].join('\0');
}

/** The state of the repositories of a workspace before a command. */
export interface EarlierState {
  readonly known: readonly FoundRepository[];
  /** The paths that the sandbox guards, and that it guarded for all commands without a check. */
  readonly guarded: readonly string[];
  /** The repository in the root of the workspace, if it is not known. Usually, the sandbox guards the root. */
  readonly newRoot: FoundRepository | undefined;
  /** True if nobody has checked completely what earlier commands created. */
  readonly isUnchecked: boolean;
  /** The git folders in the workspace that a command can change: of the root, and of the known repositories. */
  readonly gitFolders: readonly string[];
  /** The git folders, and the common folders to which a linked worktree writes too. */
  readonly searched: readonly string[];
  /** The files in these folders that make git read other settings, and that no command could create under the guards. */
  readonly added: readonly string[];
  /** The keys of the unusual entries of these folders. They are in `seen` too. */
  readonly entries: EarlierKeys;
  /** Rejects if the state cannot be read. No command may start before it resolves. */
  readonly seen: Promise<EarlierKeys>;
}
