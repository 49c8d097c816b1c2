import { closeSync, constants, openSync, readFileSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The first process of a sandbox. When it ends, the kernel kills all other processes of the sandbox. It is gone
 * only after all of them are gone. Bubblewrap itself does not wait for that.
 */
export interface FirstProcess {
  /** Bubblewrap writes the id of the process to this file descriptor before it starts the command. */
  readonly fd: number;
  /** Returns the id of the process, or undefined if bubblewrap has not started it yet. */
  id(): number | undefined;
  /**
   * Waits until the process is gone. Resolves with false if it still exists after a limited time. Call it after
   * bubblewrap has ended, and only once.
   */
  gone(): Promise<boolean>;
  /** Returns the identity of the process for `isLeft` if `gone` resolved with false. Otherwise undefined. */
  left(): string | undefined;
}

const open = new Set<number>();

/** Maximum number of checks. The time between two checks is at least 1 ms. */
const maxLooks = 5000;

/** Opens a file without a name in `folder`, which no command can change. */
export function openFirstProcess(folder: string): FirstProcess {
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const path = join(folder, 'first-process');
  const fd = openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  unlinkSync(path);
  open.add(fd);
  let isOver = false;
  let left: string | undefined;
  return {
    fd,
    // After the end, the number of the descriptor can belong to another file.
    id: () => (isOver ? undefined : idIn(fd)),
    async gone() {
      try {
        for (let looks = 0; looks < maxLooks; looks++) {
          if (isGone(fd)) return true;
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        left = identityIn(fd);
        return left === undefined;
      } finally {
        isOver = true;
        open.delete(fd);
        closeSync(fd);
      }
    },
    left: () => left,
  };
}

/**
 * Waits for the first processes of all sandboxes. Returns the identities of those that are not gone after a limited time.
 * It is synchronous, for the end of this process.
 */
export function waitForFirstProcesses(): readonly string[] {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let looks = 0; looks < maxLooks && [...open].some((fd) => !isGone(fd)); looks++)
    Atomics.wait(pause, 0, 0, 1);
  return [...open].flatMap((fd) => identityIn(fd) ?? []);
}

/** True if the process of an identity, see `FirstProcess.left`, still exists. */
export function isLeft(identity: string): boolean {
  return identityOf(Number.parseInt(identity, 10)) === identity;
}

/** Returns true also if bubblewrap has started no process. */
function isGone(fd: number): boolean {
  return identityIn(fd) === undefined;
}

function identityIn(fd: number): string | undefined {
  try {
    const pid = idIn(fd);
    return pid === undefined ? undefined : identityOf(pid);
  } catch {
    return undefined;
  }
}

/** Returns the id of a first process and its start. Undefined if it is gone, or if it is not the first one of a sandbox. */
function identityOf(pid: number): string | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    // A new process can get the same id. It is probably not the first process of a sandbox.
    if (!/^NSpid:.*\s1$/m.test(status) || /^State:\s*[ZX]/m.test(status)) return undefined;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program can contain spaces and brackets. The start is the 20th field after the name.
    return `${pid}-${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return undefined;
  }
}

function idIn(fd: number): number | undefined {
  const text = Buffer.alloc(4096);
  const length = readSync(fd, text, 0, text.length, 0);
  const [, pid] = /"child-pid": *(\d+)\b/.exec(text.toString('latin1', 0, length)) ?? [];
  return pid === undefined ? undefined : Number(pid);
}
