import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolNames } from './remote-tools.ts';

const odd = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.string({ unit: fc.constantFrom('a', 'b', '.', '_', '-', '/', 'é'), maxLength: 80 }),
);
const server = odd.filter((name) => name !== '');
const tools = fc.uniqueArray(odd, { maxLength: 30 });

test('every name is valid and unique', () => {
  fc.assert(
    fc.property(server, tools, (of, given) => {
      const names = toolNames(of, given);
      expect([...names.keys()]).toEqual(given);
      for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(new Set(names.values()).size).toBe(given.length);
    }),
  );
});

test('a tool keeps its name when other tools change', () => {
  fc.assert(
    fc.property(server, tools, tools, (of, some, others) => {
      const alone = toolNames(of, some);
      const together = toolNames(of, [...new Set([...others, ...some])]);
      for (const tool of some.filter((name) => name.isWellFormed())) {
        expect(together.get(tool)).toBe(alone.get(tool));
      }
    }),
  );
});

describe('a name', () => {
  test('that is valid is unchanged', () => {
    expect([...toolNames('git', ['log', 'show-ref']).values()]).toEqual([
      'git_log',
      'git_show-ref',
    ]);
  });

  test('that is not valid ends in a hash', () => {
    const name = toolNames('git', ['log.all']).get('log.all');
    expect(name).toMatch(/^git_log_all_[0-9a-f]{8}$/);
  });

  test('that equals the hashed name of another tool does not hide that tool', () => {
    const hashed = toolNames('git', ['log.all']).get('log.all')?.slice('git_'.length) ?? '';
    const names = toolNames('git', ['log.all', hashed]);
    expect(names.get(hashed)).toBe(`git_${hashed}`);
    expect(names.get('log.all')).toMatch(/^git_log_all_[0-9a-f]{8}$/);
    expect(names.get('log.all')).not.toBe(names.get(hashed));
  });

  test('of a server is cut to leave space for the tool name', () => {
    expect(toolNames('s'.repeat(90), ['log']).get('log')).toBe(`${'s'.repeat(32)}_log`);
  });
});
