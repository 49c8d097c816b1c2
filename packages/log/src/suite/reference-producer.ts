import type { DraftRecord } from '@millrace/core';
import type { Acknowledged, Admission, Producer } from '../contract/producer.ts';
import { readableDrafts } from '../rules/readable-draft.ts';
import {
  type ProducerState,
  type ReferenceStore,
  refusal,
  type Session,
} from './reference-store.ts';

/** Opens an admission: fences who opened it before and, for a request, supersedes that attempt. */
export function produce(openStore: () => ReferenceStore, admission: Admission): Producer {
  const store = openStore();
  const [found, row] = admitted(store, admission);
  const { turn, isRequest } = row;
  const fact = { type: 'attempt_superseded', reason: 'opened again' } as const;
  if (isRequest && row.epoch > 0) store.add(found, [{ turn, attempt: row.attempt, fact }], 'store');
  if (isRequest) row.attempt++;
  Object.assign(row, { epoch: row.epoch + 1, sequence: 0 });
  const { epoch, attempt } = row;
  const append = async (
    drafts: readonly DraftRecord[],
    sequence: number,
  ): Promise<Acknowledged> => {
    const isOwn = (draft: DraftRecord) => draft.turn === turn && draft.attempt === attempt;
    if (!readableDrafts(drafts, admission.session).every(isOwn)) throw refusal('bad_records');
    const [session, state] = admitted(openStore(), admission, epoch);
    if (!Number.isInteger(sequence) || sequence < 1 || sequence > state.sequence + 1)
      throw refusal('bad_sequence');
    if (sequence <= state.sequence) return { through: state.through, isRepeat: true };
    store.add(session, drafts, 'producer');
    Object.assign(state, { sequence, through: session.through });
    return { through: session.through, isRepeat: false };
  };
  return { session: admission.session, epoch, turn, attempt, append };
}

/** Throws unless the driver that gave it drives, and nobody opened it since. */
function admitted(
  { sessions }: ReferenceStore,
  { session, driverEpoch, producer }: Admission,
  epoch?: number,
): readonly [Session, ProducerState] {
  const found = sessions.get(session);
  const row = found?.producers.get(producer);
  const isDriven = found?.lease?.epoch === driverEpoch && row?.driverEpoch === driverEpoch;
  if (!isDriven || (epoch ?? row.epoch) !== row.epoch) throw refusal('fenced');
  return [found, row];
}
