export declare function randomFrom(seed: number): () => number
export declare function payloadOf(seq: number, generation: number, first: number, last: number): Buffer
