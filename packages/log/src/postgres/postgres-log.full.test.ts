import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ownProcess as here, isHolderAlive } from './postgres-log.ts';

describe.runIf(process.platform === 'linux')('whether the holder of a lease still runs', () => {
  test('is known for this process and for a dead one', async () => {
    expect(isHolderAlive(here)).toBe(true);
    const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(child, 'exit');
    expect(isHolderAlive({ ...here, pid: child.pid ?? 0 })).toBe(false);
  });

  test('is unknown for another machine with the same name', () => {
    expect(isHolderAlive({ ...here, host: 'elsewhere' })).toBeUndefined();
    expect(isHolderAlive({ ...here, boot: "another one's" })).toBeUndefined();
    expect(isHolderAlive({ ...here, boot: '' })).toBeUndefined();
  });
});
