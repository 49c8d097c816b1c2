import { fault } from '../errors/wire-fault.ts';

/** A path whose names cannot be mistaken for anything else. Throws for one that leads elsewhere. */
export function encodedPath(path: string): string {
  return path.split('/').map(encodedName).join('/');
}

/** One name of a path, slashes and all. */
export function encodedName(name: string): string {
  if (!/^\.{0,2}$/.test(name)) return encodeURIComponent(name);
  const shown = JSON.stringify(name);
  throw fault('invalid_request', `the model's name has ${shown} in it, which is no name in a path`);
}
