import { execFileSync, spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { harmlessRepositories } from '../../git/repositories/judge-repositories.ts';
import { watchRepositories } from '../../git/repositories/new-repositories.ts';
import { PackageRepositories } from '../../git/repositories/package-repositories.ts';
import { RepositorySearch } from '../../git/repositories/repository-search.ts';
import { killOnExit, reportAtExit } from '../../shell/process-session.ts';

// A program that exits while the sandbox still checks the repositories of a command. Its arguments are the workspace,
// whether the command is `running` or `ended`, who gets the report (`default` or `own`), and the names of the
// new repositories.

const [root = '', moment, reader, ...names] = process.argv.slice(2);
if (reader === 'own') reportAtExit((sentence) => writeSync(1, `own: ${sentence}\n`));
const search = new RepositorySearch();
const about = { root, search, known: search.survey(root).found, guarded: [] };
const harmless = harmlessRepositories(about);
const packages = new PackageRepositories(search);
const watch = watchRepositories({
  ...{ ...about, harmless, packages, changesGit: true, network: false },
});
await watch.ready;
const { pid = 0 } = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
const endWatch = killOnExit(pid);
if (moment === 'ended') {
  process.kill(-pid, 'SIGKILL');
  endWatch();
}
for (const name of names) execFileSync('git', ['init', '-q', join(root, name)]);
process.exit(3);
