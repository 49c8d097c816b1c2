import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { findSandbox } from './find-sandbox.ts';

test.skipIf(process.platform !== 'linux')(
  '18.704: attack: a command reads keys that appeared while an earlier command runs',
  async (context) => {
    const home = temporaryFolder();
    const hide = ['.netrc', '.aws', '.kube', '.token', '.known'].map((name) => join(home, name));
    const { sandbox, ...found } = await findSandbox({ hide });
    if (sandbox === undefined) return context.skip(String(found));
    onTestFinished(() => sandbox.close());
    writeTree(home, { '.known/key': '', '.token': '' });
    const request = { root: temporaryFolder(), env: {}, command: ['true'] };
    const first = await sandbox.prepare(request);
    writeTree(home, { '.netrc': '', '.aws/credentials': '', 'real/config': '' });
    symlinkSync('real', join(home, '.kube'));
    const second = await sandbox.prepare(request);
    await second.finish();
    await first.finish();
    expect(first.args).not.toContain(join(home, '.netrc'));
    for (const name of ['.netrc', '.aws', 'real', '.token', '.known'])
      expect(second.args).toContain(join(home, name));
  },
);
