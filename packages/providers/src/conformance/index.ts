export { conformanceCases } from './conformance-cases.ts';
export { ConformanceError } from './observe.ts';
export type {
  ConformanceAnswer,
  ConformanceToolCall,
  ConformanceCase,
  ConformanceLimitation,
  ConformanceSubject,
} from './subject.ts';
