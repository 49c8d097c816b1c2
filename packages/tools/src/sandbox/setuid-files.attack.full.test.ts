import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';

// A program with the setuid bit runs with the rights of its owner, even if a different user of the machine
// starts it. Through such a file in the workspace, that user gets the owner's rights outside of the sandbox.

endAgents();

describe.for(sandboxUsers)('as %s', (user) => {
  test.for([
    ['chmod', 'cp /bin/true a; chmod 4755 a'],
    ['fchmod', `perl -e 'open my $a, ">", "a"; chmod 04755, $a'`],
    ['fchmodat2', `perl -e 'my $n = "a"; open my $a, ">", $n; syscall 452, -100, $n, 04755, 0'`],
    ['open', `perl -e 'use Fcntl; sysopen my $a, "a", O_CREAT | O_WRONLY, 04755'`],
    ['creat', `perl -e 'my $n = "a"; syscall 85, $n, 04755'`],
    [
      'openat2',
      `perl -e 'my $n = "a"; my $h = pack "QQQ", 0101, 04755, 0; syscall 437, -100, $n, $h, 24'`,
    ],
    ['mknodat', `perl -e 'my $n = "a"; syscall 259, -100, $n, 0104755, 0'`],
  ])('attack 9: a command makes a setuid program with %s', async ([, command = ''], context) => {
    const agent = await attackAgent(user, context);
    await agent.run(command);
    const modes = readdirSync(agent.workspace).map(
      (name) => lstatSync(join(agent.workspace, name)).mode,
    );
    expect(modes.filter((mode) => (mode & 0o4000) !== 0)).toEqual([]);
  });

  test.for([
    ['chmod', 'cp /bin/true a; chmod 2755 a'],
    ['fchmod', `perl -e 'open my $a, ">", "a"; chmod 02710, $a'`],
    ['open', `perl -e 'use Fcntl; umask 0; sysopen my $a, "a", O_CREAT | O_WRONLY, 02770'`],
  ])(
    'attack: a command makes a program with the rights of the group with %s',
    async ([, command = ''], context) => {
      const agent = await attackAgent(user, context);
      await agent.run(command);
      const modes = readdirSync(agent.workspace).map(
        (name) => lstatSync(join(agent.workspace, name)).mode,
      );
      expect(modes.filter((mode) => (mode & 0o2000) !== 0)).toEqual([]);
    },
  );

  test('18.1751: attack: a command makes a file with the setgid bit executable through an access control list', async (context) => {
    const agent = await attackAgent(user, context);
    const setxattr = process.arch === 'arm64' ? 5 : 188;
    const entries = '[1, 7, -1], [4, 5, -1], [32, 5, -1]';
    const program = `my ($n, $k) = ("a", "system.posix_acl_access"); my $v = pack("L", 2) . join("", map { pack "SSl", @$_ } ${entries}); syscall ${setxattr}, $n, $k, $v, length $v, 0`;
    await agent.run(`cp /bin/true a; chmod 2644 a; perl -e '${program}'`);
    const { mode } = lstatSync(join(agent.workspace, 'a'));
    expect((mode & 0o2000).toString(8)).toBe('0');
  });

  test('other permissions and files work', async (context) => {
    const agent = await attackAgent(user, context);
    const said = await agent.run(
      'echo a > a; chmod 755 a; chmod 1777 .; mkfifo b; install -m 700 a c; ls',
    );
    expect(said).toBe('a\nb\nc');
  });
});
