import type { ChatSource } from '@millrace/react';
import { ActivityLine, Approvals, ItemView } from '@millrace/react';
import { pageLabels } from '../languages/page-labels.ts';
import {
  askingSessions,
  failedSession,
  finishedSession,
  runningSession,
} from './sample-sessions.ts';
import { Sample } from './token-samples.tsx';

/** Samples of conversations: finished, running, waiting, failed, and at an earlier moment. */
export function ChatSamples({ theme }: { readonly theme: 'light' | 'dark' }) {
  const asking = askingSessions[theme];
  return (
    <>
      <Sample title="A finished answer">
        <Items source={finishedSession} />
        <ActivityLine source={finishedSession} isPast={false} />
      </Sample>
      <Sample title="A run: the race flows, the steps fall">
        <Items source={runningSession} />
        <ActivityLine source={runningSession} isPast />
      </Sample>
      <Sample title="The connection is lost: the steps stand still">
        <div data-offline>
          <ActivityLine source={runningSession} isPast isOffline />
        </div>
      </Sample>
      <Sample title="An earlier moment: the race is dashed">
        <div className="chat sample-past" data-past>
          <Items source={runningSession} />
        </div>
      </Sample>
      <Sample title="A question: the gate is closed">
        <Items source={asking} />
        <Approvals source={asking} handle={undefined} />
        <ActivityLine source={asking} isPast />
      </Sample>
      <Sample title="A failed run">
        <Items source={failedSession} />
        {failedSession.facts.notices.map(({ id, look, text }) => (
          <div key={`${theme} ${id}`} className="notice" data-look={look}>
            <span>{text(pageLabels())}</span>
          </div>
        ))}
      </Sample>
    </>
  );
}

function Items({ source }: { readonly source: ChatSource }) {
  return (
    <div className="sample-items">
      {source.itemIds.map((id) => (
        <div key={id} className="transcript-row">
          <ItemView source={source} id={id} />
        </div>
      ))}
    </div>
  );
}
