import fc from 'fast-check';

interface CallPlan {
  readonly tool: 'look' | 'ask' | 'draw' | 'read' | 'fail' | 'missing' | 'transfer';
  readonly id: 'new' | 'odd' | 'same';
}

export interface ResponsePlan {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly CallPlan[];
  readonly fault: 'none' | 'overloaded' | 'cut' | 'auth' | 'rejected';
}

export type Input = 'text' | 'two texts' | 'instruction' | 'picture' | 'blank';
export type Event = 'abort' | 'steer' | 'follow up' | 'approve' | 'deny';

type Step =
  | {
      readonly do: 'run';
      readonly input: Input;
      readonly responses: readonly ResponsePlan[];
      readonly events: readonly { readonly atMs: number; readonly what: Event }[];
    }
  | { readonly do: 'compact' }
  /** The process dies. Another process resumes the session from the records up to `at`. */
  | { readonly do: 'crash'; readonly at: number; readonly onInterrupted: 'keep' | 'retry' };

/** The plan of a random session. */
export interface SessionPlan {
  readonly hasOutput: boolean;
  /** True if runs end while a call waits for approval. They continue with the next step. */
  readonly parks: boolean;
  readonly steps: readonly Step[];
}

const calls: fc.Arbitrary<readonly CallPlan[]> = fc.oneof(
  { weight: 9, arbitrary: callList(0, 3) },
  // These are more blocks than a provider searches for a stored prefix.
  { weight: 1, arbitrary: callList(11, 14) },
);

function callList(minLength: number, maxLength: number): fc.Arbitrary<readonly CallPlan[]> {
  const call = fc.record({
    tool: fc.constantFrom('look', 'look', 'ask', 'draw', 'read', 'fail', 'missing', 'transfer'),
    id: fc.constantFrom('new', 'odd', 'same'),
  } as const);
  return fc.array(call, { minLength, maxLength }) as fc.Arbitrary<readonly CallPlan[]>;
}

const responses = fc.array(
  fc.record({
    reasoning: fc.constantFrom('', 'Hm, let me see.'),
    text: fc.constantFrom('', 'I look. ', '{"done":true}', 'Trailing space \n'),
    calls,
    fault: fc.constantFrom('none', 'none', 'none', 'none', 'overloaded', 'cut', 'auth', 'rejected'),
  } as const),
  { maxLength: 5 },
);

const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('run'),
      input: fc.constantFrom('text', 'text', 'two texts', 'instruction', 'picture', 'blank'),
      responses,
      events: fc.array(
        fc.record({
          atMs: fc.nat(2000),
          what: fc.constantFrom('abort', 'steer', 'follow up', 'approve', 'deny'),
        } as const),
        { maxLength: 3 },
      ),
    } as const),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact') } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crash'),
      at: fc.nat(),
      onInterrupted: fc.constantFrom('keep', 'retry'),
    } as const),
  },
);

export const sessionPlans: fc.Arbitrary<SessionPlan> = fc.record({
  hasOutput: fc.constantFrom(false, false, false, true),
  parks: fc.boolean(),
  steps: fc.array(steps as fc.Arbitrary<Step>, { minLength: 1, maxLength: 5 }),
});
