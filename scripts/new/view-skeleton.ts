import type { Names, Skeleton } from './skeleton.ts';

/**
 * Returns the skeleton of a view, and the tests of its laws. A view converts the log to frames of
 * an SSE stream.
 */
export function viewSkeleton(names: Names): Skeleton {
  const folder = `packages/server/src/${names.kebab}`;
  return {
    folder,
    test: folder,
    guide: 'docs/extend/view.md',
    files: {
      [`${folder}/${names.kebab}-view.ts`]: viewFile(names),
      [`${folder}/${names.kebab}-view.test.ts`]: testFile(names),
    },
    steps: [
      `${names.kebab}-view.ts: the frames of a record, and of a state`,
      `packages/server/src/contract/stream.ts: add '${names.camel}' to the names of views; the compiler then lists what is missing`,
      `packages/server/src/stream/frames/views.ts: add ${names.camel}View`,
      `packages/server/src/routes/task-log.ts: add the name to the query`,
    ],
  };
}

const viewFile = ({
  kebab,
  camel,
}: Names) => `import type { FoldState, LogRecord } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import type { FrameView } from '../contract/stream.ts';

/** The log in the format of ${kebab}. A view is pure: the same records give the same frames. */
export const ${camel}View: Pick<FrameView, 'frames' | 'restate'> = { frames, restate };

/**
 * Returns the frames of one record. The last frame has the id \`offset\`, and the k-th frame before
 * it has \`offset.k\`. So a client can resume after any frame.
 */
function frames(_before: FoldState, record: LogRecord): readonly Frame[] {
  throw new Error(\`Not written yet: the frames of record \${record.offset}\`);
}

/**
 * Returns the frames that replace everything before \`state\`, for a client that connects without a
 * cursor.
 */
function restate(state: FoldState): readonly Frame[] {
  throw new Error(\`Not written yet: the frames of a state at \${state.through}\`);
}
`;

const testFile = ({
  kebab,
  camel,
}: Names) => `import { emptyState, Folder, type LogRecord, sessionId } from '@millrace/core';
import type { Frame } from '@millrace/core/streams';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { ${camel}View } from './${kebab}-view.ts';

const session = sessionId('test');
const log = fc.array(fc.nat(0xffff), { minLength: 50, maxLength: 200 }).map(randomLog);

function framesOf(records: readonly LogRecord[]): readonly Frame[] {
  const folder = new Folder(emptyState(session));
  const frames: Frame[] = [];
  for (const record of records) {
    const batch = { after: record.offset - 1, through: record.offset, records: [record] };
    folder.addBatch(batch, (before, step, after) => {
      frames.push(...${camel}View.frames(before, step, after));
    });
  }
  return frames;
}

describe('the view ${kebab}', () => {
  test('has one line of data in each frame', () => {
    fc.assert(
      fc.property(log, (records) => {
        for (const { data } of framesOf(records)) expect(data).not.toMatch(/[\\r\\n]/);
      }),
    );
  });

  test('has ids that a client can resume at, in the order of the log', () => {
    fc.assert(
      fc.property(log, (records) => {
        const offsets = framesOf(records).map(({ id = '' }) => Number(id.split('.')[0]));
        expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
      }),
    );
  });

  test('gives the same frames for the same records', () => {
    fc.assert(
      fc.property(log, (records) => {
        expect(framesOf(records)).toEqual(framesOf(records));
      }),
    );
  });

  test('restates any state', () => {
    fc.assert(
      fc.property(log, (records) => {
        const folder = new Folder(emptyState(session));
        const through = records.at(-1)?.offset ?? 0;
        folder.addBatch({ after: 0, through, records });
        expect(Array.isArray(${camel}View.restate(folder.state))).toBe(true);
      }),
    );
  });
});
`;
