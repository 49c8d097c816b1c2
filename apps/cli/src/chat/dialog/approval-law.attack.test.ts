import { sessionId, toolCallId } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { VirtualClock } from '../../../../../packages/providers/src/testing/virtual-clock.ts';
import { quietMs, settleMs } from '../../input/answer/answer-guard.ts';
import type { Key } from '../../input/keys/key.ts';
import { KeyReader } from '../../input/keys/key-reader.ts';
import { plainTheme } from '../../text/theme/theme.ts';
import type { PendingApproval } from '../contract/dialog.ts';
import { routeKeys } from '../screen/route-keys.ts';
import { DialogController } from './dialog-controller.ts';
import { drawDialog } from './dialog-lines.ts';

interface Read {
  readonly gapMs: number;
  readonly bytes: string;
}

interface Approval {
  readonly atMs: number;
  readonly isSaved: boolean;
}

const look = { width: 40, theme: plainTheme, showsReasoning: false };

/** A chat without a terminal. Keys arrive in reads, and each change is drawn immediately. */
class AskedUser {
  readonly clock = new VirtualClock(0);
  readonly reads: { readonly atMs: number; readonly bytes: string }[] = [];
  /** The times at which a drawing showed the last line that was not shown before. */
  readonly completeAt: number[] = [];
  readonly approvals: Approval[] = [];
  denials = 0;
  prompt = '';
  readonly #dialogs: DialogController;
  readonly #reader: KeyReader;
  readonly #room: number;
  #waiting: readonly PendingApproval[] = [];
  #side = '';
  #wasComplete = false;

  constructor(room: number, isNumbered: boolean) {
    this.#room = room;
    const approve = async (isSaved: boolean, { id }: PendingApproval) => {
      this.approvals.push({ atMs: this.clock.now(), isSaved });
      this.#remove(id);
    };
    this.#dialogs = new DialogController({
      ...{ clock: this.clock, isNumbered },
      ...{ approvals: () => this.#waiting, question: () => undefined },
      ...{ isChild: () => false, otherFolder: () => undefined, root: () => '/folder' },
      previews: { of: () => undefined, isReady: () => true, renew: async () => undefined },
      ruleToSave: () => ({ tool: 'bash', command: 'x', exact: true, decision: 'allow' }),
      approve: (one) => approve(false, one),
      approveForSession: (one) => approve(true, one),
      approveAlways: (one) => approve(true, one),
      deny: async ({ id }) => {
        this.denials++;
        this.#remove(id);
      },
      ...{ showInFull: () => {}, stop: () => this.#remove(undefined) },
      runInBackground: (work) => void work,
      onChange: () => this.#draw(),
    });
    this.#reader = new KeyReader({
      clock: this.clock,
      onRead: (read) => {
        const app = { press: () => false, dialogs: this.#dialogs };
        routeKeys(app, read, {
          prompt: (key) => this.#type(key),
          side: (key) => this.#typeAside(key),
          command: () => false,
          hasCommand: () => this.prompt.startsWith('/'),
        });
        this.#draw();
      },
    });
  }

  ask(count: number, command: string): void {
    this.#waiting = Array.from({ length: count }, (_, index) => ({
      ...{ session: sessionId('s'), id: toolCallId(`c${index}`), name: 'bash', input: { command } },
      ...{ reason: 'why', rule: '{"tool":"bash","decision":"allow"}', isAnswered: false },
    }));
    this.#draw();
  }

  push({ gapMs, bytes }: Read): void {
    this.clock.advance(gapMs);
    this.reads.push({ atMs: this.clock.now(), bytes });
    this.#reader.push(bytes);
  }

  #remove(id: string | undefined): void {
    this.#waiting = id === undefined ? [] : this.#waiting.filter((one) => one.id !== id);
  }

  #draw(): void {
    const { list, dialog, sideInput } = this.#dialogs;
    if (list === undefined || dialog === undefined || sideInput !== undefined) return;
    const { contentFrom: from, readiness } = this.#dialogs;
    const { view } = drawDialog(look, dialog, list, { room: this.#room, from, readiness });
    this.#dialogs.markShown(view);
    const isComplete = this.#dialogs.readiness !== 'unread';
    if (isComplete && !this.#wasComplete) this.completeAt.push(this.clock.now());
    this.#wasComplete = isComplete;
  }

  #type(key: Key): void {
    if (key.type === 'text' || key.type === 'paste') this.prompt += key.text;
  }

  #typeAside(key: Key): void {
    if (key.type === 'text' || key.type === 'paste') this.#side += key.text;
    if (key.type === 'key' && key.name === 'escape') this.#dialogs.cancelSideInput();
    if (key.type !== 'key' || key.name !== 'enter') return;
    this.#dialogs.submitSideInput(this.#side);
    this.#side = '';
  }
}

const gap = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 2, arbitrary: fc.integer({ min: 900, max: 1100 }) },
  { weight: 3, arbitrary: fc.integer({ min: 1000, max: 4000 }) },
);

/** Splits a text into reads at random positions, with random pauses. */
const inReads = (text: fc.Arbitrary<string>): fc.Arbitrary<readonly Read[]> =>
  fc
    .tuple(text, fc.infiniteStream(fc.boolean()), fc.infiniteStream(gap))
    .map(([bytes, cuts, gaps]) => {
      const nextGap = () => gaps.next().value ?? 0;
      const reads: Read[] = [];
      let held = '';
      for (const char of bytes) {
        held += char;
        if (cuts.next().value !== true) continue;
        reads.push({ gapMs: nextGap(), bytes: held });
        held = '';
      }
      return held === '' ? reads : [...reads, { gapMs: nextGap(), bytes: held }];
    });

const moment = fc.integer({ min: 0, max: 12 });
const command = fc.constantFrom('make', 'make\ntest', Array(30).fill('echo x').join('\n'));
const setting = fc.record({
  room: fc.integer({ min: 1, max: 24 }),
  count: fc.integer({ min: 1, max: 3 }),
  isNumbered: fc.boolean(),
  command,
  moment,
});

/** Plays the reads. The approval request appears before the read with the number `moment`. */
function play(
  reads: readonly Read[],
  about: {
    readonly room: number;
    readonly count: number;
    /** True in the plain mode, in which digits choose too. */
    readonly isNumbered: boolean;
    readonly command: string;
    readonly moment: number;
  },
): AskedUser {
  const user = new AskedUser(about.room, about.isNumbered);
  for (const [index, read] of reads.entries()) {
    if (index === Math.min(about.moment, reads.length - 1)) user.ask(about.count, about.command);
    user.push(read);
  }
  user.clock.advance(quietMs * 3);
  return user;
}

const anyKey = fc.constantFrom(
  ...['y', 'y', 'y', 'n', 'a', 's', 'w', 'c', 'v', ' ', ' ', 'o', '1', '\r', '\r', 'hello'],
  ...['\u001b[A', '\u001b[B', '\u001b[B', '\u001b[6~', '\u001b', '\u0003', '\u007f', '\t'],
  ...['\u001b[200~y\u001b[201~', '\u001b[200~yes\r\u001b[201~', '\u001b[I', '\u001b[13u'],
);
const anyKeys = fc.array(anyKey, { minLength: 1, maxLength: 14 }).map((keys) => keys.join(''));

let approved = 0;

/** A key that stands alone. Random keys approve in few of the runs. */
const loneKey: readonly Read[] = [{ gapMs: 4000, bytes: 'y' }];
const shortQuestion = { room: 24, count: 1, isNumbered: false, command: 'make', moment: 0 };

test('attack 0: only a key that stands alone approves, however keys are split and timed', () => {
  fc.assert(
    fc.property(inReads(anyKeys), setting, (reads, about) => {
      const user = play(reads, about);
      approved += user.approvals.length;
      for (const { atMs } of user.approvals) {
        const at = user.reads.findLastIndex((read) => read.atMs <= atMs - settleMs);
        const answer = user.reads[at];
        const before = user.reads[at - 1];
        const after = user.reads[at + 1];
        if (answer === undefined) throw new Error('Nobody answered');
        expect(['y', 'Y', '\r', '\u001b[13u', ...(about.isNumbered ? ['1'] : [])]).toContain(
          answer.bytes,
        );
        expect(atMs - answer.atMs).toBe(settleMs);
        expect(answer.atMs - (before?.atMs ?? -quietMs)).toBeGreaterThanOrEqual(quietMs);
        expect((after?.atMs ?? Infinity) - answer.atMs).toBeGreaterThanOrEqual(settleMs);
        const shownAt = user.completeAt.findLast((shown) => shown <= answer.atMs);
        expect(answer.atMs - (shownAt ?? answer.atMs)).toBeGreaterThanOrEqual(quietMs);
      }
    }),
    { numRuns: runs(6000), examples: [[loneKey, shortQuestion]] },
  );
  // The property would also hold without any approval. So the test checks that there were
  // approvals.
  expect(approved).toBeGreaterThan(0);
});

const refusal = fc
  .tuple(
    fc.constantFrom(
      ...['n', 'N', 'no', 'NO', 'nope', 'never', 'no, use make', 'not now', 'stop', "don't"],
      ...['do not run this', 'cancel that', 'wait, what is this', '', '\u001b', '\u0003'],
      ...['\u001b[200~no\u001b[201~', '\u001b[200~please do not, never\u001b[201~'],
    ),
    fc.constantFrom('', '\r', '\r\r', '\n', '\u001b'),
  )
  .map((parts) => parts.join(''))
  .filter((text) => text !== '');

test('attack 0: no refusal approves, however it is split and timed', () => {
  fc.assert(
    fc.property(inReads(refusal), setting, (reads, about) => {
      // The marker of a paste contains a 1. If it arrives alone, a second after other input, it is a key that answers.
      fc.pre(!about.isNumbered || reads.every(({ bytes }) => bytes !== '1'));
      expect(play(reads, about).approvals).toEqual([]);
    }),
    { numRuns: runs(6000) },
  );
});

test('attack 5: no sentence typed without a pause answers, and all of it stays in the prompt', () => {
  const sentence = fc.stringMatching(/^[a-z ]{5,40}$/);
  const speed = fc.integer({ min: 0, max: quietMs - 1 });
  fc.assert(
    fc.property(sentence, speed, setting, (text, gapMs, about) => {
      const user = play(
        [...text].map((bytes) => ({ gapMs, bytes })),
        { ...about, moment: 1 },
      );
      // No letter follows the last one, but other letters came shortly before it. So it does not
      // answer either.
      expect(user.approvals).toEqual([]);
      expect(user.denials).toBe(0);
      expect(user.prompt).toBe(text);
    }),
    { numRuns: runs(2000) },
  );
});
