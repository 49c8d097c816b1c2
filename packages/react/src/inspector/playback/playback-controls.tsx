import { Button, IconButton } from '../../design/button.tsx';
import {
  BackIcon,
  EndIcon,
  ForwardIcon,
  PauseIcon,
  PlayIcon,
  StartIcon,
} from '../inspector-icons.tsx';
import { type Player, type Speed, speeds } from './playback.ts';

interface PlaybackControlsProps {
  readonly player: Player;
  readonly isLive: boolean;
  readonly isRunning: boolean;
  readonly shortenPauses: boolean;
  readonly onShortenPauses: (shortenPauses: boolean) => void;
  readonly onToggle: () => void;
  readonly onStart: () => void;
  readonly onStep: (by: 1 | -1) => void;
  readonly onLive: () => void;
}

/** The buttons that play, pause, step, change the speed, and return to the current state. */
export function PlaybackControls(props: PlaybackControlsProps) {
  const { player, isLive, isRunning, onToggle, onStart, onStep, onLive } = props;
  return (
    <div className="transport" role="toolbar" aria-label="Playback">
      <div className="transport-keys">
        <IconButton size="small" label="To the start (Home)" onClick={onStart}>
          <StartIcon />
        </IconButton>
        <IconButton size="small" label="One record back (←)" onClick={() => onStep(-1)}>
          <BackIcon />
        </IconButton>
        <IconButton
          size="small"
          look="plain"
          label={player.isPlaying ? 'Pause (Space)' : 'Play (Space)'}
          onClick={onToggle}
        >
          {player.isPlaying ? <PauseIcon /> : <PlayIcon />}
        </IconButton>
        <IconButton
          size="small"
          label="One record forward (→)"
          disabled={isLive}
          onClick={() => onStep(1)}
        >
          <ForwardIcon />
        </IconButton>
        <IconButton size="small" label="To now (End)" disabled={isLive} onClick={onLive}>
          <EndIcon />
        </IconButton>
      </div>
      <SpeedChoice player={player} />
      <PauseChoice {...props} />
      {isLive ? (
        <span className="transport-live" data-running={isRunning || undefined}>
          {isRunning ? 'Live' : 'Now'}
        </span>
      ) : (
        <Button size="small" look="main" onClick={onLive}>
          Back to now
        </Button>
      )}
    </div>
  );
}

const speedName = (speed: Speed) => (speed === 'at once' ? 'max' : `${speed}×`);

function SpeedChoice({ player }: { readonly player: Player }) {
  return (
    <select
      className="transport-speed"
      aria-label="Speed"
      value={String(player.speed)}
      onChange={({ target }) => {
        const speed = speeds.find((one) => String(one) === target.value);
        if (speed !== undefined) player.setSpeed(speed);
      }}
    >
      {speeds.map((speed) => (
        <option key={speed} value={String(speed)}>
          {speedName(speed)}
        </option>
      ))}
    </select>
  );
}

function PauseChoice({
  shortenPauses,
  onShortenPauses,
}: Pick<PlaybackControlsProps, 'shortenPauses' | 'onShortenPauses'>) {
  return (
    <label className="transport-check" title="Pauses of more than 5 s last one second">
      <input
        type="checkbox"
        checked={shortenPauses}
        onChange={({ target }) => onShortenPauses(target.checked)}
      />
      Shorten pauses
    </label>
  );
}
