import type { RecordedDrive } from './recorded-drive.ts';
import type { Recording } from './recording.ts';
import type { ReplayedLog } from './replayed-log.ts';
import type { Stage } from './stage.ts';

/** What one drive is played with. */
export interface Scene {
  readonly recording: Recording;
  readonly drive: RecordedDrive;
  readonly stage: Stage;
  readonly log: ReplayedLog;
  /** The name of the agent that is replayed, which may hand over to others. */
  readonly root: string;
}

/** The turn that is played. */
export function turnOf({ recording, stage }: Pick<Scene, 'recording' | 'stage'>): number {
  for (let at = stage.count - 1; at >= 0; at--) {
    const turn = recording.records[at]?.turn ?? 0;
    if (turn > 0) return turn;
  }
  return 0;
}
