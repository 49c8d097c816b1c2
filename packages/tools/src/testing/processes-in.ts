import { readdirSync, readlinkSync } from 'node:fs';

/** The processes that work in a folder. For systems that have /proc. */
export function processesIn(folder: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isAt(name, folder))
    .map(Number);
}

function isAt(pid: string, folder: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder;
  } catch {
    // It is gone, or somebody else's.
    return false;
  }
}
