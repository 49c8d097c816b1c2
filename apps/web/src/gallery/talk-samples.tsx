import type { TaskHandle } from '@millrace/client';
import { type AskedApproval, type JsonObject, sessionId, toolCallId } from '@millrace/core';
import {
  type Artifact,
  ArtifactPanel,
  LaneFrame,
  LaneItems,
  QuestionCard,
  type ShownArtifact,
} from '@millrace/react';
import { useState } from 'react';
import { finishedSession, runningSession } from './sample-sessions.ts';
import { Sample } from './token-samples.tsx';

/** Samples of sub-agents, forms and artifacts. */
export function TalkSamples({ theme }: { readonly theme: 'light' | 'dark' }) {
  const name = theme === 'light' ? 'shop_order' : 'shop_return';
  return (
    <>
      <Sample title="Sub-agents: one works, one is done">
        <LaneSample />
      </Sample>
      <Sample title="A form of a tool">
        <QuestionCard
          asked={{ ...asked, name }}
          form={form}
          more={1}
          handle={theme === 'light' ? readyHandle : undefined}
        />
      </Sample>
      <Sample title="An artifact with versions">
        <ArtifactSample label={`Artifacts, ${theme}`} />
      </Sample>
    </>
  );
}

function LaneSample() {
  const [isOpen, setOpen] = useState(true);
  const toggle = () => setOpen(!isOpen);
  return (
    <>
      <LaneFrame status="runs run" isRunning isOpen={isOpen} onToggle={toggle}>
        <LaneItems source={runningSession} />
        <LaneFrame status="Show its session" isRunning={false} isOpen={false} onToggle={noToggle} />
      </LaneFrame>
      <LaneFrame status="ran 2 tools" isRunning={false} isOpen onToggle={noToggle}>
        <LaneItems source={finishedSession} />
      </LaneFrame>
    </>
  );
}

const noToggle = () => {};

/** A handle that accepts an answer and does nothing with it. */
const readyHandle = {
  approve: async () => ({}),
  deny: async () => ({}),
} as unknown as TaskHandle;

const schema: JsonObject = {
  type: 'object',
  required: ['name', 'size'],
  properties: {
    name: { type: 'string', title: 'Name on the parcel', maxLength: 100 },
    mail: { type: 'string', title: 'Email', format: 'email', description: 'For the invoice' },
    count: { type: 'integer', title: 'How many', minimum: 1, default: 1 },
    size: {
      ...{ type: 'string', title: 'Size' },
      oneOf: [
        { const: 's', title: 'Small', description: 'Up to 2 kg' },
        { const: 'l', title: 'Large', description: 'Up to 20 kg' },
      ],
    },
    extras: { type: 'array', title: 'Extras', items: { type: 'string', enum: ['Bow', 'Card'] } },
    isGift: { type: 'boolean', title: 'It is a gift' },
  },
};

const form = { message: 'Where should the order go?', schema };

const asked: AskedApproval = {
  ...{ turn: 1, attempt: 1, toolCallId: toolCallId('q1'), name: 'shop_order' },
  ...{ reason: undefined, rule: undefined },
  from: {
    ...{ toolCallId: toolCallId('c1'), agents: ['tool shop_order'], session: sessionId('gallery') },
    ...{ input: null, form },
  },
};

const drawing = (color: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 60"><rect width="120" height="60" fill="${color}"/></svg>`;

const artifacts: readonly Artifact[] = [
  {
    ...{ name: 'logo.svg', kind: 'svg' },
    versions: ['#00608a', '#814d00'].map((color) => ({ key: color, text: drawing(color) })),
  },
];

function ArtifactSample({ label }: { readonly label: string }) {
  const [shown, setShown] = useState<ShownArtifact>({ name: 'logo.svg', at: 1 });
  return (
    <div className="sample-artifact">
      <ArtifactPanel {...{ artifacts, shown, label }} onShow={setShown} onClose={noToggle} />
    </div>
  );
}
