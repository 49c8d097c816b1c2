import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { harmlessRepositories } from '../../git/repositories/judge-repositories.ts';
import { watchRepositories } from '../../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Watched {
  readonly root: string;
  readonly notes: string;
  /** True if the check after the last command was complete. */
  readonly isComplete: boolean;
}

type Command = (root: string) => void;

/** Runs functions instead of commands in a new workspace, and checks its repositories like the sandbox. */
export function watchedCommand(create: Command, ...commands: readonly Command[]): Promise<Watched> {
  return watched(true, create, commands);
}

/** Like `watchedCommand`, but the commands have no permission to change git. */
export function refusedCommand(create: Command, ...commands: readonly Command[]): Promise<Watched> {
  return watched(false, create, commands);
}

async function watched(
  changesGit: boolean,
  create: Command,
  commands: readonly Command[],
): Promise<Watched> {
  const root = temporaryFolder();
  create(root);
  const search = new RepositorySearch();
  const packages = new PackageRepositories(search);
  const notes: string[] = [];
  let isComplete = true;
  for (const command of commands) {
    const guarded = [join(root, '.git/worktrees')];
    const about = { root, search, known: search.survey(root).found, guarded };
    const harmless = harmlessRepositories(about);
    const watch = watchRepositories({ ...about, changesGit, harmless, network: false, packages });
    await harmless;
    await watch.ready;
    command(root);
    notes.push(...(await watch.finish()));
    isComplete = await watch.isComplete;
    await packages.settled();
    notes.push(...(await packages.checkAfter(root, 0, async () => ({ found: [], notes: [] }))));
  }
  return { root, notes: notes.join('\n'), isComplete };
}

/** Runs a script of a shell. Its variable `OUT` is a folder outside of the workspace, which is the result. */
export function runScript(root: string, script: string, out: string = temporaryFolder()): string {
  const env = { ...process.env, OUT: out };
  execFileSync('sh', ['-c', script], { cwd: root, stdio: 'pipe', env });
  return out;
}
