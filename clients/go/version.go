package antiphon

// Version is that of server and clients, which have one.
const Version = "0.1.0"
