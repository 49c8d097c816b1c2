import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  agentKey,
  attackAgent,
  countConnections,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// Commands that try to leave the sandbox through processes, the kernel and the network.

endAgents();

/** Numbers of system calls, for Perl's `syscall`. */
const calls =
  process.arch === 'arm64'
    ? { ptrace: 117, keyctl: 219, unshare: 97, bpf: 280, userfaultfd: 282, setns: 268, mount: 40 }
    : {
        ptrace: 101,
        keyctl: 250,
        unshare: 272,
        bpf: 321,
        userfaultfd: 323,
        setns: 308,
        mount: 165,
      };
const callsEverywhere = { io_uring_setup: 425, open_tree: 428, pidfd_getfd: 438 };

/** Returns true if a process on the host has this text in its command line. */
function isOnHost(text: string): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    });
}

describe.for(sandboxUsers)('as %s', (user) => {
  test('attack: a command reads the key of the agent from /proc', async (context) => {
    const agent = await attackAgent(user, context);
    const text = await agent.run(
      `cat /proc/${agent.pid}/environ /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'; env`,
    );
    expect(text).toContain('PATH=');
    expect(text).not.toContain(agentKey);
  });

  test('attack: a command sees the agent in /proc', async (context) => {
    const agent = await attackAgent(user, context);
    const text = await agent.run(
      `cat /proc/*/cmdline | tr '\\0' ' '; echo; ls /proc | grep -c '^[0-9]'`,
    );
    expect(text).not.toContain('sandboxed-agent');
    expect(Number(text.trim().split('\n').at(-1))).toBeLessThan(10);
  });

  test('attack: a command kills the agent', async (context) => {
    const agent = await attackAgent(user, context);
    await agent.run(`kill -9 ${agent.pid}; kill -9 -1; perl -e 'kill 9, ${agent.pid}'`);
    expect(await agent.run('echo alive')).toBe('alive');
  });

  test('attack: a command connects to a server on loopback', async (context) => {
    const agent = await attackAgent(user, context);
    const { port, count } = await countConnections();
    const text = await agent.run(
      `cat < /dev/tcp/127.0.0.1/${port}; cat < /dev/tcp/localhost/${port}`,
    );
    expect(count()).toBe(0);
    expect(text).not.toContain('secret of the host');
    expect(text).toContain('network: true');
  });

  const connect = (path: string) =>
    `perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!"; connect($s, pack_sockaddr_un(${path})) or die "connect: $!"; print <$s>'`;

  test.for([false, true])(
    'attack: a command connects to a UNIX socket, with network %s',
    async (network, context) => {
      const agent = await attackAgent(user, context);
      const path = join(agent.outside, 'socket');
      const { count } = await countConnections(path);
      chmodSync(path, 0o777);
      const text = await agent.run(connect(`"${path}"`), { options: { network } });
      expect(text).toContain('Operation not permitted');
      expect(count()).toBe(0);
    },
  );

  test.for([false, true])(
    'attack: a command connects to an abstract UNIX socket, with network %s',
    async (network, context) => {
      const agent = await attackAgent(user, context);
      const name = `millrace-attack-${process.pid}-${network}`;
      const { count } = await countConnections(`\0${name}`);
      const text = await agent.run(connect(`"\\0${name}"`), { options: { network } });
      expect(text).toContain('Operation not permitted');
      expect(count()).toBe(0);
    },
  );

  test.for(['SOCK_DGRAM', 'SOCK_RAW'])(
    'attack: a command connects a pair of sockets of the type %s again',
    async (type, context) => {
      const agent = await attackAgent(user, context);
      const text = await agent.run(
        `perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, ${type}, 0) or die "refused: $!"; print "made"'`,
      );
      expect(text).toContain('refused: Operation not permitted');
    },
  );

  test.for(Object.entries({ ...calls, ...callsEverywhere }))(
    'attack: a command uses the system call $0',
    async ([, number], context) => {
      const agent = await attackAgent(user, context);
      const text = await agent.run(
        `perl -e '$! = 0; syscall(${number}, 0, 0, 0, 0, 0); print 0 + $!'`,
      );
      expect(text).toBe('1');
    },
  );

  test('attack: a command creates namespaces with clone and clone3', async (context) => {
    const agent = await attackAgent(user, context);
    const clone = process.arch === 'arm64' ? 220 : 56;
    const program = `foreach my $flag (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000) { $! = 0; my $p = syscall(${clone}, $flag | 17, 0, 0, 0, 0); exit 0 if $p == 0; print 0 + $!, " " } $! = 0; syscall(435, 0, 0); print 0 + $!`;
    expect(await agent.run(`perl -e '${program}'; unshare -Ur id -u; true`)).toMatch(
      /^1 1 1 1 1 38/,
    );
  });

  test('attack: a command mounts, changes the root and makes devices', async (context) => {
    const agent = await attackAgent(user, context);
    const text = await agent.run(
      'mount -t tmpfs x /mnt; mount --bind / /mnt; umount /proc; chroot / true && echo in; mknod d b 254 0; mknod /dev/d b 254 0; ls d /dev/d; mount -o remount,rw /; touch /made; true',
    );
    expect(text).not.toMatch(/^(?:in|d|\/dev\/d)$/m);
    expect(existsSync('/made')).toBe(false);
  });

  test('attack: a program with the setuid bit gets more rights', async (context) => {
    const agent = await attackAgent(user, context);
    const path = join(agent.outside, 'shell');
    copyFileSync('/bin/bash', path);
    chmodSync(path, 0o4755);
    const text = await agent.run(
      `id -u; ${path} -p -c 'id -u'; grep -E 'NoNewPrivs|CapEff' /proc/self/status`,
    );
    const [before, after] = text.split('\n');
    // A command cannot even see a program below /tmp, if the project is there.
    expect([before, `bash: line 2: ${path}: No such file or directory`]).toContain(after);
    expect(text).toMatch(/CapEff:\s+0+\n/);
    expect(text).toMatch(/NoNewPrivs:\s+1/);
  });

  test('attack: a daemon survives the command', async (context) => {
    const agent = await attackAgent(user, context);
    const mark = `${1000 + process.pid}.5`;
    const text = await agent.run(
      `setsid sleep ${mark} & (setsid sh -c '(sleep ${mark} &) ; sleep ${mark}' >/dev/null 2>&1 &); perl -MPOSIX -e 'exit if fork; setsid; exit if fork; exec "sleep", "${mark}"'; echo done`,
    );
    expect(text).toBe('done');
    expect(isOnHost(mark)).toBe(false);
  });

  test('18.1170: attack: daemons that closed the output work after the command', async (context) => {
    const agent = await attackAgent(user, context);
    const mark = `${4000 + process.pid}.5`;
    const program = `for (1 .. 400) { my $p = fork; if (defined $p && !$p) { setsid; open STDOUT, ">", "/dev/null"; open STDERR, ">", "/dev/null"; exec "sleep", "${mark}" } }`;
    expect(await agent.run(`perl -MPOSIX -e '${program}'; echo done`)).toBe('done');
    expect(isOnHost(mark)).toBe(false);
  });

  test('attack: a command that times out leaves processes that ignore signals', async (context) => {
    const agent = await attackAgent(user, context);
    const mark = `${2000 + process.pid}.5`;
    const text = await agent.run(
      `trap '' TERM HUP INT; setsid sh -c "trap '' TERM; sleep ${mark}" & while :; do sleep ${mark}; done`,
      { timeoutMs: 700 },
    );
    expect(text).toContain('took longer');
    expect(isOnHost(mark)).toBe(false);
  });

  test('attack: a fork bomb', async (context) => {
    const agent = await attackAgent(user, context);
    if (agent.isRoot) context.skip('The kernel does not limit the processes of root');
    const program = `for my $n (1 .. 5000) { my $p = fork; if (!defined $p) { print "refused at $n"; last } if (!$p) { sleep 1000 } }`;
    const text = await agent.run(`perl -e '${program}'`, {
      options: { limits: { processes: 50 } },
    });
    expect(Number(/refused at (\d+)/.exec(text)?.[1])).toBeLessThan(60);
  });

  test('18.203: attack: a command that nobody approved uses up the memory', async (context) => {
    const agent = await attackAgent(user, context);
    const program = 'my $x = "x" x (300 * 1024 * 1024); print "allocated"';
    const options = { limits: { memoryBytes: 100 * 1024 * 1024 } };
    const closed: readonly string[] = [];
    expect(await agent.run(`perl -e '${program}'`, { options, closed })).toMatch(/out of memory/i);
    expect(await agent.run('ulimit -d', { closed })).toBe(String(4 * 1024 * 1024));
    expect(await agent.run('ulimit -d')).toBe('unlimited');
  });

  test('attack: a fork bomb that nothing limits ends with the time limit', async (context) => {
    const agent = await attackAgent(user, context);
    const mark = `${3000 + process.pid}.5`;
    const program = `for (1 .. 400) { my $p = fork; if (defined $p && !$p) { exec "sleep", "${mark}" } } sleep 1000`;
    await agent.run(`perl -e '$SIG{TERM} = "IGNORE"; ${program}'`, { timeoutMs: 1500 });
    expect(isOnHost(mark)).toBe(false);
  });

  test('attack: a command types into a terminal (TIOCSTI)', async (context) => {
    const agent = await attackAgent(user, context);
    const program = `open(my $t, "+<", "/dev/ptmx") or die "no terminal: $!"; foreach my $request (0x5412, 0x541c) { $! = 0; my $c = "x"; ioctl($t, $request, $c); print 0 + $!, " " }`;
    expect(await agent.run(`perl -e '${program}'`)).toBe('1 1');
    expect(await agent.run('echo x > /dev/tty')).toContain('No such device');
  });

  test('18.1750: attack: a command takes a lease on a file, so that every program that opens it waits', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.home, { '.gitconfig': '[user]\n\tname = me\n' });
    const program = `$SIG{IO} = "IGNORE"; for my $command (1024, 1040) { open my $f, "<", "$ENV{HOME}/.gitconfig" or die; $! = 0; fcntl($f, $command, 1); print 0 + $!, " " }`;
    expect(await agent.run(`perl -e '${program}'`)).toBe('1 1');
  });

  test('18.1752: attack: a command makes a snapshot of a btrfs file system', async (context) => {
    const agent = await attackAgent(user, context);
    const program = `open my $f, "<", "." or die; foreach my $request (0x50009417, 0x50009401, 0x4020bc10) { $! = 0; my $args = pack "x4096"; ioctl($f, $request, $args); print 0 + $!, " " }`;
    expect(await agent.run(`perl -e '${program}'`)).toBe('1 1 1');
    // `cp --reflink` and compilers share the content of files with requests of the same type.
    const clone = `open my $a, "<", "$0" or die; open my $b, ">", "b" or die; $! = 0; ioctl($b, 0x40049409, fileno $a); print 0 + $!`;
    agent.write(agent.workspace, { 'clone.pl': clone });
    expect(await agent.run('perl clone.pl')).toMatch(/^(?:0|18|22|25|95)$/);
  });

  test('attack: a command changes what the kernel runs after a crash', async (context) => {
    const agent = await attackAgent(user, context);
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    const text = await agent.run('echo "|/tmp/x" > /proc/sys/kernel/core_pattern; ulimit -Hc');
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
    expect(text.trim().split('\n').at(-1)).toBe('0');
  });
});
