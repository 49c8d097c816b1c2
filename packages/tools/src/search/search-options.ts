import { type Clock, systemClock } from '@millrace/agent';
import type { Workspace } from '../workspace/workspace.ts';

export interface SearchToolOptions {
  readonly workspace: Pick<Workspace, 'root' | 'resolve' | 'open'>;
  /** What does not exist for a search: globs as in a rule that denies. See `PermissionPolicy.deniedPaths`. */
  readonly exclude?: readonly string[] | undefined;
  /** Then a search ends with what it has found. 30 s unless told. */
  readonly timeoutMs?: number | undefined;
  /** Files and folders that one search looks at. 200,000 unless told. */
  readonly maxEntries?: number | undefined;
  /** In characters. 30,000 unless told. */
  readonly maxOutputLength?: number | undefined;
  readonly clock?: Clock | undefined;
}

export type SearchSettings = {
  readonly [Key in keyof SearchToolOptions]-?: NonNullable<SearchToolOptions[Key]>;
} & {
  /** Of what is found, which leaves room for what is said about it. */
  readonly maxFoundLength: number;
};

/** As a model gives it: all but the pattern may be left out. */
export type Asked<Input extends { readonly pattern: string }> = Pick<Input, 'pattern'> & {
  readonly [Key in Exclude<keyof Input, 'pattern'>]?: Input[Key] | undefined;
};

/** What a path at its longest and a few notes need. */
const roomForNotes = 5000;

export function searchSettings(options: SearchToolOptions): SearchSettings {
  const { maxOutputLength = 30_000 } = options;
  return {
    workspace: options.workspace,
    exclude: options.exclude ?? [],
    timeoutMs: options.timeoutMs ?? 30_000,
    maxEntries: options.maxEntries ?? 200_000,
    maxOutputLength,
    maxFoundLength: Math.max(maxOutputLength - roomForNotes, Math.ceil(maxOutputLength / 2)),
    clock: options.clock ?? systemClock,
  };
}
