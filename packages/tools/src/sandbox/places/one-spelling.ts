import { dirname } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { isAscii } from '../../workspace/globs/folded-names.ts';
import {
  type FileNames,
  hasOtherSpelling,
  ignoresCase,
  spellingsOf,
} from '../../workspace/letter-case.ts';
import { pathFollower } from '../../workspace/real-form.ts';
import { currentMounts, type MountTable } from './mount-table.ts';

const reason = 'ignores the letter case of names, so the sandbox cannot protect files in it';
const move =
  'Move the project to a file system that distinguishes upper and lower case, such as the home folder of Linux in WSL';

interface Checked {
  /** Default: the mounts of this process. */
  readonly mounts?: MountTable | undefined;
  /** Default: the names of the file system. */
  readonly files?: FileNames | undefined;
}

/**
 * Returns the reason why no sandbox can protect a workspace, with advice. Undefined if there is no such reason. A mount
 * protects one name. If the file system ignores the letter case, a command can use the file by another spelling.
 */
export function workspaceProblem(
  root: string,
  { mounts = currentMounts(), files }: Checked = {},
): { readonly folder: string; readonly reason: string; readonly advice: string } | undefined {
  const { real } = pathFollower()(root);
  const folder = [real, ...mounts.pointsBelow(real)].find((one) => ignoresCase(one, files));
  if (folder === undefined) return undefined;
  return { folder, reason: `the file system of ${folder} ${reason}`, advice: move };
}

interface CheckedPlaces extends Checked {
  /** The paths that the sandbox hides or protects. */
  readonly paths: readonly string[];
  /** The workspace, if the command can change it. It could create a repository with an unusual spelling. */
  readonly root: string | undefined;
}

/** Throws if a command could use a path by another spelling, or create a repository with another spelling. */
export function assertOneSpelling({ paths, root, ...where }: CheckedPlaces): void {
  const problem = root === undefined ? undefined : workspaceProblem(root, where);
  if (problem !== undefined) throw cannotProtect(problem.folder);
  const checked = new Set<string>();
  for (const path of paths) {
    const folder = dirname(path);
    const name = path.slice(folder.length);
    // A file system can distinguish the letter case and ignore the form of accented letters.
    const hasForms = !isAscii(name) && name.normalize('NFC') !== name.normalize('NFD');
    const key = hasForms ? `${folder}\0` : folder;
    if (checked.has(key) || spellingsOf(name).length === 0) continue;
    checked.add(key);
    if (hasOtherSpelling(path, where.files)) throw cannotProtect(folder);
  }
}

function cannotProtect(path: string): SandboxError {
  const message = `Cannot run the command in a sandbox: the file system of ${path} ${reason}. Set outside_sandbox, so that the user can be asked. Advice for the user: ${move}, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path });
}
