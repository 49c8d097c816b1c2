import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { gitPlaces } from '../sandbox/places/git-places.ts';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { RepositorySearch } from './repositories/repository-search.ts';

// A process of the user takes a lease on a file that the agent reads. A program that opens the file then waits, for 45
// seconds by default.

/** Takes a lease for writing until the end of the test. */
async function lease(path: string): Promise<void> {
  const program = `$SIG{IO} = "IGNORE"; open my $f, "<", $ARGV[0] or die; fcntl($f, 1024, 1) or die; $| = 1; print "held"; <STDIN>`;
  const holder = spawn('perl', ['-e', program, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
}

test.runIf(process.platform === 'linux')(
  '18.1753: attack: a lease on the settings of git makes the agent wait',
  async () => {
    const [root, home] = [temporaryFolder(), temporaryFolder()];
    writeTree(root, { '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '' });
    writeTree(home, { '.gitconfig': '[core]\n\thooksPath = .githooks\n' });
    vi.stubEnv('HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    await lease(join(home, '.gitconfig'));
    expect(() => gitPlaces(root, new RepositorySearch())).toThrow(
      `Cannot read ${join(home, '.gitconfig')}: another program has locked it with a lease`,
    );
  },
);

test.runIf(process.platform === 'linux')(
  '18.1754: attack: a lease on an ignore file makes the question about a search wait',
  async () => {
    const root = temporaryFolder();
    writeTree(root, { '.gitignore': 'dist\n', 'src/a.ts': 'KEY', '.env': 'KEY=hush' });
    expect(await commandRuling(root, 'rg KEY')).toBe('allow');
    await lease(join(root, '.gitignore'));
    expect(await commandRuling(root, 'rg KEY')).toBe('ask');
  },
);
