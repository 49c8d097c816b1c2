import { lstat, opendir } from 'node:fs/promises';
import { codeOf, refusedBySystem, WorkspaceError } from '../contract/workspace-error.ts';
import type { Folder } from './folder.ts';
import { nameAt, type Place } from './resolve-path.ts';

/** How many names of a folder are looked through for those that somebody may have meant. */
const maxNamesRead = 2000;

/** Why a segment of a place cannot be gone through or opened, for who asked for the place. */
export async function whyNot(
  place: Place,
  index: number,
  parent: Folder,
  error: unknown,
): Promise<unknown> {
  switch (codeOf(error)) {
    case 'ENOENT':
      return place.exists ? vanished(place) : await notFound(place, index, parent);
    case 'ESTALE':
      return becameLink(place, error);
    case 'ENOTDIR':
    case 'ELOOP': {
      const there = await lstat(parent.at(nameAt(place, index))).catch(() => undefined);
      // Links were resolved before: one that is there now was not there then.
      if (there === undefined || there.isSymbolicLink()) return becameLink(place, error);
      return notFolder(place, index);
    }
    default:
      return refusedBySystem(place.given, error);
  }
}

export function vanished({ given }: Place): WorkspaceError {
  const state = 'it was there a moment ago and is gone. Another process removed or moved it';
  return new WorkspaceError('vanished', given, state);
}

export function becameLink({ given }: Place, cause?: unknown): WorkspaceError {
  const state =
    'something on its path was replaced by another process while it was opened. Look at it again first';
  return new WorkspaceError('changed', given, state, { cause });
}

function notFolder(place: Place, index: number): WorkspaceError {
  const upTo = place.segments.slice(0, index + 1).join('/');
  return new WorkspaceError('not_a_folder', place.given, `${upTo} is a file, not a folder`);
}

async function notFound(place: Place, index: number, parent: Folder): Promise<WorkspaceError> {
  const before = place.segments.slice(0, index).map((name) => `${name}/`);
  const name = nameAt(place, index);
  const nearest = nearestNames(name, await namesIn(parent));
  // It is listed under this name, and cannot be found by it.
  if (name.includes('\ufffd') && nearest.includes(name)) return notUtf8(place);
  const meant = nearest.map((name) => `${before.join('')}${name}`).join(', ');
  const missing = `${before.join('')}${name}`;
  const isWhole = index === place.segments.length - 1;
  const state = [
    isWhole ? 'it does not exist.' : `the folder ${missing} does not exist.`,
    meant === ''
      ? `In ${before.join('') || './'} is nothing of a similar name.`
      : `Near: ${meant}.`,
    place.given.startsWith('~') ? '"~" is not expanded: give a path inside the workspace.' : '',
  ];
  return new WorkspaceError('not_found', place.given, state.filter(Boolean).join(' '));
}

function notUtf8({ given }: Place): WorkspaceError {
  const state = 'its name has bytes that are not UTF-8, and cannot be given here. Use a program';
  return new WorkspaceError('bad_path', given, state);
}

async function namesIn(folder: Folder): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder.at())) {
      names.push(name);
      if (names.length >= maxNamesRead) break;
    }
  } catch {
    // It may be looked into by nobody, or be gone: then there are no names to tell.
  }
  return names;
}

const maxNames = 3;
// Longer names are compared by their beginnings: the cost grows with the square.
const maxComparedLength = 64;

/** The names that somebody may have meant, best first. */
function nearestNames(name: string, names: readonly string[]): readonly string[] {
  return names
    .map((other) => ({ other, distance: distance(name, other) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 3))
    .sort((a, b) => a.distance - b.distance || (a.other < b.other ? -1 : 1))
    .slice(0, maxNames)
    .map(({ other }) => other);
}

/** How many characters to put in, leave out or change; letter case counts half, an ending counts one. */
function distance(a: string, b: string): number {
  const [stemA, stemB] = [withoutEnding(a), withoutEnding(b)];
  if (stemA === stemB) return 1;
  if (a.toLowerCase() === b.toLowerCase()) return 0.5;
  return editDistance(
    a.slice(0, maxComparedLength).toLowerCase(),
    b.slice(0, maxComparedLength).toLowerCase(),
  );
}

function withoutEnding(name: string): string {
  return name.replace(/(?<=.)\.[^.]*$/, '');
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const change = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
