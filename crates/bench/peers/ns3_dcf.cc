// The peer of `slowhand bench dcf-1 dcf-10 dcf-50`: the same cells in ns-3. A program of its own, never linked into slowhand, since ns-3 is
// GPL-2.0-only. SPDX-License-Identifier: MIT OR Apache-2.0
//
// c++ -O2 ns3_dcf.cc $(pkg-config --cflags --libs ns3-wifi ns3-applications ns3-internet ns3-mobility) -o ns3_dcf
// ns3_dcf STATIONS SECONDS    one line: packets received, wall seconds of the run, goodput in Mb/s
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"
#include "ns3_cell.h"

using namespace ns3;

static void places(NodeContainer ap, NodeContainer stations) {
  auto list = CreateObject<ListPositionAllocator>();
  list->Add(Vector(0, 0, 0));
  for (uint32_t i = 0; i < stations.GetN(); ++i) {
    double angle = 2 * M_PI * i / stations.GetN();
    list->Add(Vector(5 * std::cos(angle), 5 * std::sin(angle), 0));
  }
  MobilityHelper mobility;
  mobility.SetPositionAllocator(list);
  mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
  mobility.Install(ap);
  mobility.Install(stations);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: ns3_dcf STATIONS SECONDS\n");
    return 2;
  }
  const uint32_t count = std::atoi(argv[1]);
  const double seconds = std::atof(argv[2]), warm = 1;
  const uint32_t payload = 1470;
  NodeContainer ap(1), stations(count);
  NetDeviceContainer devices = radios(ap, stations);
  places(ap, stations);
  NodeContainer all(ap, stations);
  InternetStackHelper().Install(all);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  Ipv4InterfaceContainer at = addresses.Assign(devices);

  // One station alone receives; several send. The offer is a third more than there is room for.
  const bool down = count == 1;
  PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
  ApplicationContainer sinks = sink.Install(down ? stations.Get(0) : ap.Get(0));
  for (uint32_t i = 0; i < count; ++i) {
    UdpClientHelper client(at.GetAddress(down ? 1 : 0), 9);
    client.SetAttribute("PacketSize", UintegerValue(payload));
    client.SetAttribute("MaxPackets", UintegerValue(0xffffffff));
    client.SetAttribute("Interval", TimeValue(Seconds(payload * 8 * count / 40e6)));
    ApplicationContainer source = client.Install(down ? ap.Get(0) : stations.Get(i));
    source.Start(Seconds(warm * (0.5 + 0.4 * i / count)));
  }
  auto received = DynamicCast<PacketSink>(sinks.Get(0));
  Simulator::Stop(Seconds(warm));
  Simulator::Run();
  const uint64_t before = received->GetTotalRx();
  const auto started = std::chrono::steady_clock::now();
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  const uint64_t bytes = received->GetTotalRx() - before;
  std::printf("%llu %.6f %.4f\n", (unsigned long long)(bytes / payload), wall.count(), bytes * 8e-6 / seconds);
  Simulator::Destroy();
}
