import type { FilePart, MediaPart } from '@millrace/core';
import { Filled, useLabels } from '../../labels/use-labels.ts';
import { onDemand } from '../../on-demand/on-demand.ts';
import type { ChatSource } from '../state/chat-source.ts';
import { VisibleText } from './visible-text.tsx';
import './media-view.css';

export interface MediaViewProps {
  readonly source: ChatSource;
  readonly part: MediaPart | FilePart;
}

/** The code that shows media and files. */
export const mediaContent = onDemand(() => import('./media-content.tsx'));

/** Shows an image, audio, a video, or a file to download. */
export function MediaView(props: MediaViewProps) {
  const t = useLabels();
  const MediaContent = mediaContent.useLoaded(true)?.MediaContent;
  if (MediaContent !== undefined) return <MediaContent {...props} />;
  const { part } = props;
  return (
    <div className="media-wait">
      <Filled
        text={t.loadingName}
        parts={[<VisibleText key="name" text={part.kind === 'file' ? part.name : part.mimeType} />]}
      />
    </div>
  );
}
