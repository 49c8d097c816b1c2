import { LogError } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { ConfigError, UsageError } from '../contract/errors.ts';
import { describeFailure } from './report-failure.ts';

describe('an error', () => {
  test('of ours is one line, and what can be mended by calling differently is wrong usage', () => {
    const usage = { text: 'millrace: Unknown flag -z\n', exitCode: 2 };
    expect(describeFailure(new UsageError('Unknown flag -z'), {})).toEqual(usage);
    expect(describeFailure(new ConfigError('a:1:1: b is not known'), {})).toMatchObject({
      exitCode: 2,
    });
    const log = new LogError('storage', 'Cannot write:\n  the disk is full');
    const text = 'millrace: Cannot write: the disk is full\n';
    expect(describeFailure(log, {})).toEqual({ text, exitCode: 1 });
  });

  test('of nobody is a bug of ours, which says where to look', () => {
    const { text, exitCode } = describeFailure(new TypeError('x is not a function'), {});
    expect(text).toMatch(
      /^millrace: this is a bug in millrace: TypeError: x is not a function\. .*\n$/,
    );
    expect(text).toContain('MILLRACE_DEBUG=1');
    expect(exitCode).toBe(1);
    expect(describeFailure('thrown', {}).text).toContain('a bug in millrace: thrown');
  });

  test('has its stack only where that is asked for', () => {
    const error = new TypeError('x is not a function', { cause: new Error('below') });
    expect(describeFailure(error, {}).text).not.toContain('report-failure.test');
    const { text } = describeFailure(error, { MILLRACE_DEBUG: '1' });
    expect(text).toContain('report-failure.test');
    expect(text).toContain('below');
  });

  test('cannot fill the screen, nor control it', () => {
    const { text } = describeFailure(new Error(`\u001b[2J${'x'.repeat(100_000)}`), {});
    expect(text.length).toBeLessThan(1500);
    expect(text).not.toContain('\u001b');
  });
});
