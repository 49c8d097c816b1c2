import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteLog } from '../index.ts';

test.skipIf(process.platform === 'win32')(
  '18.706: attack: the mark of a log overwrites the target of a link',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-mark-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [path, target] = [join(folder, 's.db'), join(folder, 'notes.txt')];
    writeFileSync(target, 'notes of the user\n'.repeat(20));
    symlinkSync(target, `${path}-mark`);
    expect(() => sqliteLog({ path })).toThrow('s.db-mark');
    expect(readFileSync(target, 'utf8')).toBe('notes of the user\n'.repeat(20));
  },
);
