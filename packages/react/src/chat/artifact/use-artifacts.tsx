import { type ReactNode, Suspense, useCallback, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { ArtifactIcon } from '../../design/icons.tsx';
import { Skeleton } from '../../design/skeleton.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { lazyView } from '../../on-demand/lazy-view.tsx';
import { type ChatSource, useSourceValue } from '../state/chat-source.ts';
import type { ShownArtifact } from './artifact-panel.tsx';
import { type Artifact, artifactsOf, findVersion } from './artifacts.ts';

const ArtifactPanel = lazyView(async () => (await import('./artifact-panel.tsx')).ArtifactPanel);

/** The elements that a page needs to show the artifacts of a session. */
export interface ArtifactsOfPage {
  /** The button that opens the panel. Undefined if the session has no artifacts. */
  readonly button: ReactNode;
  /** The panel. Undefined if it is closed. */
  readonly panel: ReactNode;
  /** The value of `ArtifactOpener` for the code blocks of the session. */
  readonly opener: (text: string) => (() => void) | undefined;
  readonly close: () => void;
}

/** Returns the elements that a page needs to show the artifacts of a session. */
export function useArtifacts(source: ChatSource, onOpen: () => void): ArtifactsOfPage {
  const t = useLabels();
  const artifacts = useSourceValue(source, artifactsOf);
  const [shown, setShown] = useState<ShownArtifact>();
  const close = useCallback(() => setShown(undefined), []);
  const open = useCallback(
    (next: ShownArtifact) => {
      onOpen();
      setShown(next);
    },
    [onOpen],
  );
  const opener = useCallback(
    (text: string) => {
      const found = findVersion(artifacts, text);
      return found && (() => open(found));
    },
    [artifacts, open],
  );
  const last = artifacts.at(-1);
  const isOpen = shown !== undefined && last !== undefined;
  return {
    opener,
    close,
    button: last !== undefined && (
      <Button
        size="small"
        look="quiet"
        aria-pressed={isOpen}
        onClick={() => (isOpen ? close() : open(latestOf(last)))}
      >
        <ArtifactIcon /> {t.artifactCount(artifacts.length)}
      </Button>
    ),
    panel: isOpen && (
      <Suspense
        fallback={
          <aside className="inspector-wait">
            <Skeleton label={t.loadingTheArtifact} bars={['short', 'block']} />
          </aside>
        }
      >
        <ArtifactPanel artifacts={artifacts} shown={shown} onShow={setShown} onClose={close} />
      </Suspense>
    ),
  };
}

function latestOf({ name, versions }: Artifact): ShownArtifact {
  return { name, at: versions.length - 1, key: versions.at(-1)?.key };
}
