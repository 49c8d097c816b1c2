import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { isRequirementMissing } from '../../../../packages/log/src/testing/external-programs.ts';
import { askDaemon, listenForControl } from '../daemon/control-socket.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { openStore } from './open-store.ts';

// The user stores sessions in a folder that other users of the machine can write to, such as /tmp.

const missing = isRequirementMissing(
  process.geteuid?.() === 0,
  'The files get another owner, which needs root',
);
const neighbour = 65_534;

const base = temporaryFolder('shared-folder');
let place: string;
let path: string;
const open = (mustExist = false) => openStore({ config: { store: path }, env: {}, mustExist });
const plant = (name: string) => {
  writeFileSync(name, 'evil', { mode: 0o666 });
  chownSync(name, neighbour, neighbour);
};

beforeEach(async () => {
  place = mkdtempSync(join(base(), 'x'));
  path = join(place, 'mine', 's.db');
  mkdirSync(join(place, 'mine'));
  await (await open()).close();
});

describe.skipIf(missing)(
  '18.766: attack: another user writes a file beside a session store',
  () => {
    test.each(['-journal', '-wal', '-shm', '-mark', ''])('%s', async (ending) => {
      const group = join(place, 'mine');
      chownSync(group, 0, neighbour);
      chmodSync(group, 0o3770);
      await (await open()).close();
      plant(`${path}${ending}`);
      await expect(open()).rejects.toThrow('belongs to another user');
      await expect(open(true)).rejects.toThrow('belongs to another user');
    });

    test('as a link to a file of the user', async () => {
      const group = join(place, 'mine');
      chownSync(group, 0, neighbour);
      chmodSync(group, 0o3770);
      writeFileSync(join(place, 'target'), 'text');
      rmSync(`${path}-mark`, { force: true });
      symlinkSync(join(place, 'target'), `${path}-mark`);
      await expect(open()).rejects.toThrow('s.db-mark');
    });
  },
);

test.skipIf(process.platform === 'win32')(
  '18.766: attack: all users can create a journal at any time',
  async () => {
    chmodSync(join(place, 'mine'), 0o1777);
    await expect(open()).rejects.toThrow('all users of this machine can write to its folder');
    await expect(open()).rejects.toThrow('--store <file>');
    // A command that only prints the sessions starts no run.
    await (await open(true)).close();
  },
);

describe.skipIf(process.platform === 'win32')(
  '18.767: attack: another user answers in place of the daemon of a session store',
  () => {
    const ask = async (folder: string) => {
      let requests = 0;
      const server = await listenForControl(join(place, 'own', 'socket'), async () => {
        requests += 1;
        return { pid: 1, url: 'http://127.0.0.1:1' };
      });
      const reply = await askDaemon(join(folder, 'socket'), { type: 'hello' }).catch(String);
      await server.close();
      return { requests, reply };
    };

    beforeEach(() => mkdirSync(join(place, 'own'), { mode: 0o700 }));

    test.skipIf(missing)('in a folder of this user', async () => {
      const own = join(place, 'own');
      chownSync(own, neighbour, neighbour);
      const { requests, reply } = await ask(own);
      expect(requests).toBe(0);
      expect(reply).toContain('not a folder of this user');
    });

    test('behind a link', async () => {
      symlinkSync('own', join(place, 's.db-daemon'));
      expect(await ask(join(place, 's.db-daemon'))).toMatchObject({ requests: 0 });
    });

    test('but the own daemon is used', async () => {
      expect(await ask(join(place, 'own'))).toMatchObject({ requests: 1, reply: { pid: 1 } });
    });
  },
);
