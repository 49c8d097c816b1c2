import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createToken } from '@millrace/server';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { isRequirementMissing } from '../../../../packages/log/src/testing/external-programs.ts';
import { type ServeProcess, serveProcess } from '../testing/serve-process.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';

// A different user of the machine attacks a server on loopback. The attacks run with the id of a
// real second user, so they need root, setpriv and curl.

const run = promisify(execFile);
const folder = temporaryFolder('other-user');
const nobody = 65_534;

const isRoot = process.geteuid?.() === 0;
const missing = isRequirementMissing(
  isRoot,
  'These attacks run as another user, so they need root',
);
const describeAsRoot = missing ? describe.skip : describe;

/** Runs a shell command as a different user. Returns its output and whether it succeeded. */
async function asOtherUser(command: string): Promise<{ ok: boolean; output: string }> {
  const flags = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'];
  try {
    const { stdout } = await run('setpriv', [...flags, 'sh', '-c', command]);
    return { ok: true, output: stdout };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return { ok: false, output: stdout + stderr };
  }
}

let data: string;
let count = 0;
beforeEach(() => {
  // All users may read the parent folders. So only the file modes of the server protect its data.
  chmodSync(folder(), 0o755);
  data = join(folder(), `data-${++count}`);
});

const serve = (flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}) =>
  serveProcess(['--port', '0', '--data', data, ...flags], folder(), env);
const status = (url: string, more = '') =>
  asOtherUser(`curl -s -o /dev/null -w '%{http_code}' ${more} ${url}`);

describeAsRoot('another user of the machine', () => {
  let shared: ServeProcess;
  let sharedData: string;
  let endShared: () => Promise<void>;
  beforeAll(async () => {
    sharedData = join(folder(), 'shared-data');
    const flags = ['--port', '0', '--data', sharedData];
    shared = await serveProcess(flags, folder(), {}, (kill) => {
      endShared = kill;
    });
    // All users may read this folder. So the access folder and the files must protect their own
    // content.
    chmodSync(sharedData, 0o755);
  });
  afterAll(() => endShared());

  test.each([
    ['creates a token', "/tokens -X POST -H 'content-type: application/json' -d '{}'"],
    ['lists tokens', '/tokens'],
    ['lists tasks', '/tasks'],
    ['follows a task', '/tasks/name/any/stream'],
    [
      'registers an agent',
      `/agents/register -X POST -H 'content-type: application/json' -d '{"name":"x","description":"","acp_url":"http://127.0.0.1:1","acp_type":"sync"}'`,
    ],
    [
      'sends a message',
      `/agents/name/demo/rpc -X POST -H 'content-type: application/json' -d '{"method":"task/create"}'`,
    ],
  ])('attack 8: %s without a token and is refused', async (_what, request) => {
    expect(await status(`${shared.url}${request}`)).toEqual({ ok: true, output: '401' });
  });

  test.each([
    ['the token', (at: string) => `cat ${at}/access/token`],
    ['the names in its folder', (at: string) => `ls ${at}/access`],
    ['the secret of the keys', (at: string) => `cat ${at}/secret`],
    ['the tasks', (at: string) => `cat ${at}/tasks.db`],
    ['the sessions', (at: string) => `cat ${at}/sessions.db`],
  ])('attack 8: reads %s and is refused', async (_what, command) => {
    const { ok, output } = await asOtherUser(command(sharedData));
    expect([ok, output]).toEqual([false, expect.stringContaining('Permission denied')]);
  });

  test('attack 8: finds no token in the process list', async () => {
    const { child, token } = shared;
    expect(token).toMatch(/^mr_/);
    const { output } = await asOtherUser(
      `cat /proc/${child.pid}/cmdline /proc/${child.pid}/environ; ps -ef`,
    );
    expect(output).toContain('serve');
    expect(output).not.toContain(token);
  });

  test('attack 8: finds no token in the process list while a printed command runs', async () => {
    const { url, token, output } = shared;
    const created = await fetch(`${url}/agents/name/echo/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"method":"task/create","params":{"name":"first"}}',
    });
    expect(created.status).toBe(200);
    const command = /.*curl .*\/stream.*/.exec(output.stdout)?.[0] ?? '';
    const following = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void following.kill());
    // The first event shows that the server accepted the token and that curl is still running.
    await once(following.stdout, 'data');
    const list = await asOtherUser('cat /proc/[0-9]*/cmdline');
    expect(list.output).toContain(url);
    expect(list.output).not.toContain(token);
    following.kill();
  });

  test('attack 8: keeps no token of a server without tokens when its owner sets one', async () => {
    const open = await serve(['--no-token']);
    const post = async (path: string, body: string) => {
      const command = `curl -s ${open.url}${path} -H 'content-type: application/json' -d '${body}'`;
      return JSON.parse((await asOtherUser(command)).output);
    };
    const { token } = await post('/tokens', '{}');
    const agent = '"description":"","acp_url":"http://127.0.0.1:1","acp_type":"sync"';
    const { agent_api_key: key } = await post('/agents/register', `{"name":"far",${agent}}`);
    expect(token).toMatch(/^mr_/);
    await open.end('SIGTERM');
    const operator = createToken();
    for (const env of [{ MILLRACE_TOKEN: operator }, {}] as const) {
      const closed = await serve([], { ...env });
      const authorization = `authorization: Bearer ${'MILLRACE_TOKEN' in env ? operator : closed.token}`;
      const again = await fetch(`${closed.url}/agents/register`, {
        method: 'POST',
        headers: { authorization: authorization.slice(15), 'content-type': 'application/json' },
        body: `{"name":"far",${agent}}`,
      });
      expect(again.status).toBe(200);
      for (const old of [token, key]) {
        const answer = await status(`${closed.url}/agents`, `-H 'authorization: Bearer ${old}'`);
        expect(answer.output).toBe('401');
      }
      await closed.end('SIGTERM');
    }
  });
});

describeAsRoot('a folder that another user prepared', () => {
  /** Starts the server. It must end with an error that matches this message. */
  const refused = (message: RegExp) => expect(serve()).rejects.toThrow(message);

  test('attack 8: with its own access folder is refused', async () => {
    mkdirSync(join(data, 'access'), { recursive: true });
    writeFileSync(join(data, 'access', 'token'), `${createToken()}\n`);
    chownSync(join(data, 'access'), nobody, nobody);
    await refused(/access: it belongs to another user/);
  });

  test('attack 8: with its own token is refused', async () => {
    mkdirSync(join(data, 'access'), { recursive: true, mode: 0o700 });
    const path = join(data, 'access', 'token');
    writeFileSync(path, `${createToken()}\n`, { mode: 0o600 });
    chownSync(path, nobody, nobody);
    await refused(/token: it belongs to another user/);
  });

  test.each([
    ['token', 'it is a symbolic link'],
    ['access', 'it is not a folder'],
  ])('attack 8: with a link as %s is refused', async (name, why) => {
    mkdirSync(join(data, 'access'), { recursive: true, mode: 0o700 });
    const target = join(folder(), `target-${count}`);
    if (name === 'token') {
      writeFileSync(target, `${createToken()}\n`, { mode: 0o644 });
      symlinkSync(target, join(data, 'access', 'token'));
    } else {
      mkdirSync(target);
      await run('rmdir', [join(data, 'access')]);
      symlinkSync(target, join(data, 'access'));
    }
    await refused(new RegExp(why));
  });

  test('attack 8: with a pipe as the token does not hang the start', async () => {
    mkdirSync(join(data, 'access'), { recursive: true, mode: 0o700 });
    await run('mkfifo', [join(data, 'access', 'token')]);
    await refused(/token: it is not a regular file/);
  });

  test('attack 8: with a link in place of the secret is refused', async () => {
    mkdirSync(data, { recursive: true });
    const target = join(folder(), `secret-${count}`);
    writeFileSync(target, 'a secret that another user knows, long enough\n', { mode: 0o644 });
    symlinkSync(target, join(data, 'secret'));
    await refused(/secret: it is a symbolic link/);
  });

  /** The token and the folder of a server that has ended. */
  let oldToken: string;
  let oldData: string;
  beforeAll(async () => {
    oldData = join(folder(), 'old-data');
    const flags = ['--port', '0', '--data', oldData];
    const first = await serveProcess(flags, folder(), {}, () => {});
    oldToken = first.token;
    await first.end('SIGTERM');
  });

  test.each(['644', '640', '604', '620', '602'])(
    'attack 8: with a token of mode %s gets a new token',
    async (mode) => {
      await run('cp', ['-a', oldData, data]);
      const path = join(data, 'access', 'token');
      chmodSync(path, Number.parseInt(mode, 8));
      const second = await serve();
      expect(second.token).not.toBe(oldToken);
      expect(second.output.stderr).toContain('other users could read the old one');
      expect(lstatSync(path).mode & 0o777).toBe(0o600);
      const headers = { authorization: `Bearer ${oldToken}` };
      expect((await fetch(`${second.url}/tasks`, { headers })).status).toBe(401);
    },
  );

  test('attack 8: with an access folder that everybody may enter gets its mode back', async () => {
    mkdirSync(join(data, 'access'), { recursive: true, mode: 0o755 });
    const { token } = await serve();
    expect(lstatSync(join(data, 'access')).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(data, 'access', 'token'), 'utf8').trim()).toBe(token);
  });
});

describe('a token that is easy to guess', () => {
  // The rule itself is tested in packages/server/src/http/access/security.test.ts.
  test.each(['swordfish', 'ab'.repeat(40)])(
    'attack 16: %j is refused at the start',
    async (token) => {
      const start = serve([], { MILLRACE_TOKEN: token });
      const problem: unknown = await start.then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(String(problem)).toMatch(/Cannot use this operator token.*openssl rand -hex 32/);
      expect(String(problem)).not.toContain(`"${token}"`);
    },
  );
});
