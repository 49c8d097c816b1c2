import { lstat, opendir } from 'node:fs/promises';
import { editDistance, nearestNames } from '@millrace/core';
import { errorCodeOf, fromSystemError, WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { type ResolvedPath, segmentAt } from './resolve-path.ts';

/** Maximum number of names to read from a folder in the search for similar names. */
const maxNamesRead = 2000;

/** Converts an error at one segment of a path to an error that tells the model the cause. */
export async function explainPathFailure(
  place: ResolvedPath,
  index: number,
  parent: Folder,
  error: unknown,
): Promise<unknown> {
  switch (errorCodeOf(error)) {
    case 'ENOENT':
      return place.exists ? vanishedError(place) : await notFoundError(place, index, parent);
    case 'ESTALE':
      return replacedError(place, error);
    case 'ENOTDIR':
    case 'ELOOP': {
      const there = await lstat(parent.pathOf(segmentAt(place, index))).catch(() => undefined);
      // All links were resolved before, so a link at this path was created after that.
      if (there === undefined || there.isSymbolicLink()) return replacedError(place, error);
      return notFolderError(place, index);
    }
    default:
      return fromSystemError(place.given, error);
  }
}

export function vanishedError({ given }: ResolvedPath): WorkspaceError {
  const state = 'it was there a moment ago and is gone. Another process removed or moved it';
  return new WorkspaceError('vanished', given, state);
}

export function replacedError({ given }: ResolvedPath, cause?: unknown): WorkspaceError {
  const state =
    'another process replaced a part of its path while it was opened. Check it again first';
  return new WorkspaceError('changed', given, state, { cause });
}

function notFolderError(place: ResolvedPath, index: number): WorkspaceError {
  const upTo = place.segments.slice(0, index + 1).join('/');
  return new WorkspaceError('not_a_folder', place.given, `${upTo} is a file, not a folder`);
}

async function notFoundError(
  place: ResolvedPath,
  index: number,
  parent: Folder,
): Promise<WorkspaceError> {
  const before = place.segments.slice(0, index).map((name) => `${name}/`);
  const name = segmentAt(place, index);
  const nearest = similarNames(name, await readNames(parent));
  // The folder seems to contain this name, but the real name contains bytes that are not valid UTF-8.
  if (name.includes('\ufffd') && nearest.includes(name)) return notUtf8Error(place);
  const meant = nearest.map((name) => `${before.join('')}${name}`).join(', ');
  const missing = `${before.join('')}${name}`;
  const isWhole = index === place.segments.length - 1;
  const state = [
    isWhole ? 'it does not exist.' : `the folder ${missing} does not exist.`,
    meant === '' ? `${before.join('') || './'} has no similar name.` : `Similar: ${meant}.`,
    place.given.startsWith('~') ? '"~" is not expanded: give a path inside the workspace.' : '',
  ];
  return new WorkspaceError('not_found', place.given, state.filter(Boolean).join(' '));
}

function notUtf8Error({ given }: ResolvedPath): WorkspaceError {
  const state = 'its name has bytes that are not UTF-8, and cannot be used here. Use a program';
  return new WorkspaceError('bad_path', given, state);
}

async function readNames(folder: Folder): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder.pathOf())) {
      names.push(name);
      if (names.length >= maxNamesRead) break;
    }
  } catch {
    // The folder cannot be read or no longer exists, so the error suggests no names.
  }
  return names;
}

// Maximum length of a compared name. Only the beginning of a longer name is compared, because the time is
// quadratic in the length.
const maxComparedLength = 64;

/** Returns existing names that the model may have intended, the best match first. */
function similarNames(name: string, names: readonly string[]): readonly string[] {
  const isNear = (distance: number) => distance <= Math.max(2, name.length / 3);
  return nearestNames(name, names.toSorted(), { distance: fileNameDistance, isNear });
}

/**
 * Returns the distance of two file names. It is 0.5 if they differ only in letter case, and 1 if they differ
 * only in the extension. Otherwise it is the edit distance.
 */
function fileNameDistance(a: string, b: string): number {
  if (withoutExtension(a) === withoutExtension(b)) return 1;
  if (a.toLowerCase() === b.toLowerCase()) return 0.5;
  return editDistance(
    a.slice(0, maxComparedLength).toLowerCase(),
    b.slice(0, maxComparedLength).toLowerCase(),
  );
}

function withoutExtension(name: string): string {
  return name.replace(/(?<=.)\.[^.]*$/, '');
}
