import { homedir } from 'node:os';
import { basename, dirname } from 'node:path';
import { keyPlaces } from '../sandbox/key-places.ts';
import type { LexicalPath } from '../workspace/match-path.ts';
import { type Protection, readProtection } from './protected-paths.ts';

/**
 * Returns why reading a path needs a question, by its name or by its place. Use it for everything
 * that reads, so that no way of reading shows what another one asks about.
 */
export function secretProtection(path: LexicalPath): Protection | undefined {
  return readProtection(path.shown) ?? homeProtection(path, 'read');
}

/**
 * Returns why a path of the home folder or the system needs a question. It matters if the workspace
 * contains the home folder: the sandbox hides and protects these places, and the other tools must
 * not reach them either. A workspace that is inside such a place is not protected from itself.
 */
export function homeProtection(path: LexicalPath, use: 'read' | 'write'): Protection | undefined {
  const { keys, startUp } = currentPlaces();
  for (const place of placesAbove(path)) {
    const segment = basename(place);
    if (use === 'write' && startUp.has(place)) return { segment, why: 'runs_code' };
    if (keys.has(place)) return { segment, why: 'secret' };
  }
  return undefined;
}

/** Returns the path and the folders above it, up to the workspace, in small letters. */
function placesAbove({ absolute, shown, isInside }: LexicalPath): readonly string[] {
  const isRoot = shown === '' || shown === '.';
  const count = isInside ? (isRoot ? 0 : shown.split('/').length) : absolute.split('/').length;
  const places: string[] = [];
  for (let place = absolute.toLowerCase(); places.length < count; place = dirname(place))
    places.push(place);
  return places;
}

interface Places {
  readonly homes: string;
  readonly keys: ReadonlySet<string>;
  readonly startUp: ReadonlySet<string>;
}

let known: Places | undefined;

/** A search asks for each file, so the lists are kept until the home folder changes. */
function currentPlaces(): Places {
  const homes = `${homedir()}\0${process.env['HOME'] ?? ''}`;
  if (known?.homes === homes) return known;
  const { keys, startUp } = keyPlaces(process.env);
  const setOf = (paths: readonly string[]) => new Set(paths.map((path) => path.toLowerCase()));
  known = { homes, keys: setOf(keys), startUp: setOf(startUp) };
  return known;
}
