import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { writeTree } from '../../testing/temporary-folder.ts';

test.skipIf(!existsSync('/usr/bin/bwrap'))(
  '18.703: attack: a command reads hidden files at a second mount of the disk, as on WSL',
  () => {
    const base = join(import.meta.dirname, '../../../../../node_modules/.cache');
    mkdirSync(base, { recursive: true });
    const folder = realpathSync(mkdtempSync(join(base, 'mounts-')));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeTree(folder, { 'work/key.txt': 'hush', 'home/.ssh/id': 'hush', 'home/a.txt': 'text' });
    const [root, home] = [join(folder, 'work'), join(folder, 'home')];
    const paths = ['work/key.txt', 'home/.ssh/id', 'home/a.txt'].map(
      (path) => `/mnt${folder}/${path}`,
    );
    const request = {
      root,
      input: { command: `cat ${paths.join(' ')}; touch /mnt${root}/b; ls` },
      options: { hide: [join(home, '.ssh')] },
      denied: [join(root, 'key.txt')],
    };
    const program = bundledProgram(
      new URL('../../testing/sandbox/sandboxed-agent.ts', import.meta.url),
    );
    const mounts = ['--dev-bind', '/', '/', '--bind', '/', '/mnt'];
    const { stdout, stderr } = spawnSync('/usr/bin/bwrap', [...mounts, process.execPath, program], {
      input: `${JSON.stringify(request)}\n`,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const answer = JSON.parse(stdout);
    expect(answer).toMatchObject({ text: expect.stringContaining('text') });
    expect(answer.text).not.toContain('hush');
    expect(answer.text).toContain('Read-only file system');
  },
);
